// Package certs is the edge's own certificate authority: one CA per data
// directory, made at first start, and the leaf certificates under which
// intercepted hosts are shown to clients.
//
// On disk, in <data>/ca:
//
//	.lock        held while any of the files below is made or replaced
//	ca-key.pem   the CA's private key, PKCS #8; never leaves the machine
//	ca.pem       the CA's certificate
//	retired.pem  CAs that were rotated out, each with the end of its trust
//	bundle.pem   the system's roots and ours, for clients; can be rebuilt
//	bundle.p12   the same as a trust store for Java; can be rebuilt
//
// Leaves and their key live in memory only.
package certs
