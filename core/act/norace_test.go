//go:build !race

package act_test

const slow = false
