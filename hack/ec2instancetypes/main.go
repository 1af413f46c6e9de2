package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	asOf := flag.String("as-of", "", "month of the table, as YYYY-MM")
	out := flag.String("out", "types.txt", "file to write")
	flag.Parse()
	if err := run(*asOf, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "ec2instancetypes:", err)
		os.Exit(1)
	}
}

func run(asOf, out string, args []string) error {
	if len(args) != 1 || args[0] == "" || asOf == "" {
		return fmt.Errorf("usage: ec2instancetypes -as-of YYYY-MM [-out FILE] TABLE.tsv (got %d table paths, as-of %q)", len(args), asOf)
	}
	table, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("reading the table: %w", err)
	}
	list, err := compact(string(table), asOf)
	if err != nil {
		return fmt.Errorf("compacting %s: %w", args[0], err)
	}
	if err := os.WriteFile(out, []byte(list), 0o644); err != nil {
		return fmt.Errorf("writing the list: %w", err)
	}
	return nil
}
