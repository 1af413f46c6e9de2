package observation

import "k8s.io/client-go/tools/cache"

// NewTransform is the transform that objects go through before they are stored.
func NewTransform() cache.TransformFunc { return newTrimmer().transform }
