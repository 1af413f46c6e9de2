package document

// Read reads the sources as one stream. The error, if there is one, is of type Errors: everything that is wrong with the stream, in its
// order; the input is not usable then. Warnings are about what is passed over. It blocks as the readers do.
func Read(sources []Source) (Input, []Warning, error) {
	return Input{}, nil, nil
}
