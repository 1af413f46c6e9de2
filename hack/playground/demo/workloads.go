package demo

import (
	"embed"
	"fmt"
)

// appLabel tells which app a pod belongs to.
const appLabel = "app"

// workloads are the manifests of the apps. What their pods ask for decides how many machines are needed, see predict.
//
//go:embed workloads/*.yaml
var workloads embed.FS

// manifest returns the manifests of an app.
func manifest(app string) ([]byte, error) {
	text, err := workloads.ReadFile("workloads/" + app + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("reading the manifests of app %s: %w", app, err)
	}
	return text, nil
}
