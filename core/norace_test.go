//go:build !race

package core_test

const slow = false
