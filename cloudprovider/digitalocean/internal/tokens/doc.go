// Package tokens answers: which token do requests carry now?
//
// Here: the literal token, and the token file that is read anew when it is replaced. Not here: what a token may do. Imports nothing of ours.
// Spec page: digitalocean §2.3.
package tokens
