package simulator

// Snapshot is an in-memory cluster on which placements are tried.
type Snapshot struct{}
