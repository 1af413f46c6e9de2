package template_test

import (
	"fmt"
	"testing"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/template"
)

// BenchmarkVariants makes the templates of a group in three zones whose machines can be of so many types.
func BenchmarkVariants(b *testing.B) {
	for _, n := range []int{1, 10, 800} {
		b.Run(fmt.Sprintf("types=%d", n), func(b *testing.B) {
			s := source([]string{"za", "zb", "zc"}, nil, many(n)...)
			s.Facts.ByRequirements = true
			for b.Loop() {
				if _, err := template.Variants(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
