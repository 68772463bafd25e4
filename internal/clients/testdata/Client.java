import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/**
 * An HTTP client in Java: java Client URL
 *
 * The answer's status line and fields go to standard error, its body to standard
 * output piece by piece as it arrives. The proxy and the trust come from the
 * properties in JAVA_TOOL_OPTIONS alone.
 */
public class Client {
    public static void main(String[] args) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(args[0])).build();
        HttpResponse<InputStream> answer =
            HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofInputStream());
        String version = answer.version() == HttpClient.Version.HTTP_2 ? "HTTP/2" : "HTTP/1.1";
        System.err.println(version + " " + answer.statusCode());
        answer.headers().map().forEach(
            (name, values) -> values.forEach(value -> System.err.println(name + ": " + value)));
        byte[] piece = new byte[65536];
        try (InputStream body = answer.body()) {
            for (int n = body.read(piece); n >= 0; n = body.read(piece)) {
                System.out.write(piece, 0, n);
                System.out.flush();
            }
        }
    }
}
