//go:build ignore

// Tally reads the events of `go test -json` and prints what `go test` prints:
// the closing line of each package, and everything a failed test said. It ends
// with 1 when a test failed or none ran. The counts are added to the file it is
// given, so that several runs have one sum.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type event struct {
	Action, Package, Test, Output, ImportPath string
}

func main() {
	var passed, failed int
	said := map[string]*strings.Builder{} // by test, until its end is known
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil {
			fmt.Println(in.Text()) // not an event: what the toolchain itself says
			continue
		}
		key := e.Package + " " + e.Test
		switch {
		case e.Action == "build-output":
			fmt.Print(e.Output)
		case e.Action == "output" && e.Test == "" && e.Output != "PASS\n":
			fmt.Print(e.Output)
		case e.Action == "output":
			if said[key] == nil {
				said[key] = new(strings.Builder)
			}
			said[key].WriteString(e.Output)
		case e.Action == "fail" && e.Test != "":
			failed++
			if s := said[key]; s != nil {
				fmt.Print(s)
			}
			delete(said, key)
		case e.Action == "fail":
			failed += packageFault(said, e.Package)
		case e.Action == "pass" && e.Test != "":
			passed++
			delete(said, key)
		}
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
	f, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, passed, failed)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
}

// packageFault prints what the tests said that were running when their package
// failed, and counts them. A package that fails without one (it does not build,
// say) counts as one.
func packageFault(said map[string]*strings.Builder, pkg string) int {
	n := 0
	for key, s := range said {
		if strings.HasPrefix(key, pkg+" ") {
			fmt.Print(s)
			delete(said, key)
			n++
		}
	}
	return max(n, 1)
}
