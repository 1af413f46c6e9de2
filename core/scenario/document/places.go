package document

// places says where each object stands.
type places struct{}
