"""An HTTP client in Python: client.py urllib|http.client URL

The answer's status line and fields go to standard error, its body to standard
output piece by piece as it arrives. The proxy and the trust come from the
environment alone.
"""

import base64
import http.client
import os
import sys
import urllib.error
import urllib.parse
import urllib.request


def with_urllib(url):
    try:
        return urllib.request.urlopen(url)
    except urllib.error.HTTPError as refusal:
        return refusal


def with_http_client(url):
    """Does by hand what http.client leaves to its caller: the proxy's address
    and credentials."""
    to = urllib.parse.urlsplit(url)
    proxy = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
    login = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
    credentials = {"Proxy-Authorization": "Basic " + login}
    if to.scheme == "https":
        connection = http.client.HTTPSConnection(proxy.hostname, proxy.port)
        connection.set_tunnel(to.hostname, to.port, credentials)
        connection.request("GET", to.path)
    else:
        connection = http.client.HTTPConnection(proxy.hostname, proxy.port)
        connection.request("GET", url, headers=credentials)
    return connection.getresponse()


def show(answer):
    print(f"HTTP/1.1 {answer.status}", file=sys.stderr)
    for name, value in answer.headers.items():
        print(f"{name}: {value}", file=sys.stderr)
    while piece := answer.read1(65536):
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


show({"urllib": with_urllib, "http.client": with_http_client}[sys.argv[1]](sys.argv[2]))
