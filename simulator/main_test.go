package simulator_test

import (
	"testing"

	"go.uber.org/goleak"
)

// No scheduler leaves a goroutine behind, though none is ever closed.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
