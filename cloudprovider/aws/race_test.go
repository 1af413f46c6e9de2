//go:build race

package aws_test

// slow: the race detector makes everything several times slower, so that long tests try a part of their cases only.
const slow = true
