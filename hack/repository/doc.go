// Package repository tests the repository itself: rules of the house that no linter knows.
//
// Here: tests only, each with its reason. Not here: anything that a linter can say (.golangci.yml).
package repository
