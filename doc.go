// Package wayleave holds no code: its tests keep the layout, the documentation
// and the image true to what the other packages are.
package wayleave
