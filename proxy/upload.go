package proxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
)

// An uploadError is what keeps a request's body from having an end although the
// client is there: its framing is not valid. What net/http says of it quotes the
// client, so it is not repeated.
type uploadError struct{ err error }

func (e *uploadError) Error() string { return "the request's body is not valid HTTP" }

func isUploadError(err error) bool {
	_, ok := errors.AsType[*uploadError](err)
	return ok
}

// leftUpload reports whether err says that an HTTP/2 client left with its
// connection: net/http ends the body for that a moment before the request.
func leftUpload(err error) bool {
	u, ok := errors.AsType[*uploadError](err)
	return ok && strings.Contains(u.err.Error(), "client disconnected")
}

// beginUpload lets an answer go out before the upload has ended (N14). An error
// means that the server cannot, and then it reads the upload first.
func (x *crossing) beginUpload(r *http.Request) {
	if x.watch.body.ReadCloser != nil && r.ProtoMajor == 1 {
		_ = http.NewResponseController(x.w).EnableFullDuplex()
	}
}

// uploading reports whether r has a body over HTTP/1.x of which the upstream has
// not taken the end.
func (x *crossing) uploading(r *http.Request) bool {
	return x.watch.body.ReadCloser != nil && r.ProtoMajor == 1 && !x.watch.body.ended.Load()
}

// endUnsure reports whether another reader may think that r ended elsewhere, so
// that what follows it is not read as a request (RFC 9112 6.1): it was chunked and
// may have had a length too, or it is of HTTP/1.0 and may have named a coding.
// net/http tells of neither.
func endUnsure(r *http.Request) bool {
	return r.ProtoMajor == 1 && (r.ContentLength < 0 || r.ProtoMinor == 0)
}

// endUpload gives up the rest of an upload after an answer that did not wait for
// it. net/http then closes the connection, but unless it has itself found the
// body too long it does so at once, and the client's system would throw the
// answer away on the reset that follows; and a rest that it did read to its end
// would leave it reading the connection twice.
func (x *crossing) endUpload(r *http.Request) {
	if !x.uploading(r) {
		return
	}
	tooLong := http.MaxBytesReader(x.w, io.NopCloser(bytes.NewReader([]byte{0})), 0)
	_, _ = tooLong.Read(make([]byte, 1)) // fails, and marks the connection
	x.limitDrain(r)
}
