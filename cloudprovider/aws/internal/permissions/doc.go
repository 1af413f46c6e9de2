// Package permissions answers: which IAM actions does the provider use, what does each one do for the operator, and which of them has AWS
// denied?
//
// Here: the one table of actions, which the IAM policies of deploy/aws and docs/aws.md are checked against, and the memory of what real
// calls came back with; no call is made only to find out. Not here: IAM itself, telling anybody. Imports nothing of ours.
// Spec page: aws §11.
package permissions
