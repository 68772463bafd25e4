// Wayleave is a forward proxy that lets agents cross to other people's sites
// on the terms those sites publish, and keeps evidence of every crossing.
//
// This package is the command: what is started and in which order, and the only
// place that knows YAML, flags and the environment. Everything a crossing meets
// lives in the packages it wires together in edge.go.
package main
