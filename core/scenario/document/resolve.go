package document

// Resolve makes the cluster at the start of the play. The error, if there is one, is of type Errors. The cluster takes over the objects of
// the input.
func Resolve(in Input) (Cluster, error) {
	return Cluster{}, nil
}

// Finish makes finished objects of those that an entry of the timeline applies. Its own are not changed, so that an entry may happen
// again. The error, if there is one, is of type Errors.
func Finish(objects *Objects, around Surroundings) (Finished, error) {
	return Finished{}, nil
}
