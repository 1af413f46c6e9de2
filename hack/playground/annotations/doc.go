// Package annotations names the annotations by which Node and Pod objects tell the playground's pretended kubelets what to do.
//
// Here: constants. It imports nothing, so that who writes the annotations need not link who reads them (nodes, in its stages).
package annotations
