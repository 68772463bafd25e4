package wayleave_test

import (
	"go/ast"
	"testing"
)

const (
	longestFile     = 400
	longestFunction = 80
)

// What does not fit on a few screens is seldom one thing.
func TestFilesAndFunctionsStayShort(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		if n := line(f.ast.FileEnd); n > longestFile {
			t.Errorf("%s has %d lines, more than %d", f.path, n, longestFile)
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			if n := lines(fn) - tableLines(fn.Body); n > longestFunction {
				t.Errorf("%s: %s has %d lines without its tables, more than %d", f.path, fn.Name.Name, n, longestFunction)
			}
		}
	}
}

func lines(n ast.Node) int { return line(n.End()) - line(n.Pos()) + 1 }

// tableLines counts the lines inside literals, which are read as a table is,
// less those of functions inside them, which are code.
func tableLines(body *ast.BlockStmt) int {
	n := 0
	ast.Inspect(body, func(node ast.Node) bool {
		table, ok := node.(*ast.CompositeLit)
		if !ok {
			return true
		}
		n += lines(table) - 1 - functionLines(table)
		return false
	})
	return n
}

func functionLines(table *ast.CompositeLit) int {
	n := 0
	ast.Inspect(table, func(node ast.Node) bool {
		fn, ok := node.(*ast.FuncLit)
		if ok {
			n += lines(fn) - 1
		}
		return !ok
	})
	return n
}
