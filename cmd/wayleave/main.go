package main

import (
	"context"
	"io"
	"log"
	"os"
)

func main() {
	// net/http tells the standard logger what a site sent unasked, word for word:
	// answers and their cookies, which no log of ours may hold (E23).
	log.SetOutput(io.Discard)
	os.Exit(run(context.Background(), os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}
