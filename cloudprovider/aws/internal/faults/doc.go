// Package faults answers: what does an error of the AWS SDK mean for the caller?
//
// Here: one error type with a short text and a class, made from whatever a call of the SDK returns. Not here: what to do about it
// (package aws turns classes into the errors of the contract). Imports smithy and the SDK's core, no service. Spec page: aws §5.2, §15.8.
package faults
