//go:build !race

package aws_test

// slow is false without the race detector.
const slow = false
