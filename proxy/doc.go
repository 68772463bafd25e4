// Package proxy carries agents' requests to sources, one crossing at a time.
//
// Plain HTTP, HTTP inside CONNECT, and intercepted HTTP/1.1 and HTTP/2 run one
// path: a front that settles who asks and for what, and an exchange that rules
// the request, sends it at most once, records how it ended, and only then
// releases the end of the answer.
package proxy
