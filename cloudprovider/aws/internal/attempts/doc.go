// Package attempts answers: which requests were sent to AWS, how long did each take, and how did it end?
//
// Here: the SDK middleware that tells a cloudprovider.CallObserver about every attempt, retries included. Not here: metrics. Imports
// cloudprovider and the SDK's core, no service. Spec page: aws §12.1.
package attempts
