package demo

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/hack/playground/checker"
)

// act is one part of the story.
type act struct {
	title string
	text  string // what happens and what to expect
	do    func(ctx context.Context, p *player) error
	until string // what its end looks like, in words
	ended func(b *board) bool
	lasts time.Duration                              // how long the state at the end must last
	after func(ctx context.Context, p *player) error // what to show then; nil: nothing
}

// actTimeout is several times what an act takes on a slow machine.
const actTimeout = 90 * time.Second

func acts() []act {
	return []act{
		{
			title: "Act 1: a Deployment of 40 pods (web), and one of 2 (ledger)",
			text: "Six pods of web fill a small machine up to a rest, which is enough for one of ledger. One machine is there:\n" +
				"general has to grow from 1 to 7. A large machine would be used less well, and batch has a taint.",
			do:    apply("ledger", "web"),
			until: "all 42 pods run",
			ended: func(b *board) bool { return b.app("web").healthy == 40 && b.app("ledger").healthy == 2 },
		},
		{
			title: "Act 2: a burst",
			text: "A Job of 12 pods (report) that tolerates the taint of batch: five fit on a machine, so batch has to grow to 3.\n" +
				"Two big pods (cache): both fit on one large machine. And one pod (giant) that fits on no machine at all.",
			do:    apply("report", "cache", "giant"),
			until: "all pods run but the giant one, and that one knows why",
			ended: func(b *board) bool {
				jobs := b.app("report")
				return jobs.running+jobs.finished == 12 && b.app("cache").healthy == 2 && b.told("giant")
			},
		},
		{
			title: "Act 3: web shrinks to 3 pods, the Job completes, and a budget forbids to evict ledger",
			text: "The machines of batch become empty and have to go. So has every machine of general whose pods can move elsewhere: all\n" +
				"but two, as each pod of ledger keeps the machine that it is on. The large machine is well used and stays.",
			do:    scale("web", 3),
			until: "general has 2 machines, large 1, batch none",
			ended: func(b *board) bool { return b.settledAt(map[string]int{"general": 2, "large": 1, "batch": 0}) },
			lasts: 8 * time.Second,
			after: showKept,
		},
		{
			title: "Act 4: the budget allows one pod of ledger to be away",
			text:  "Now one of the two machines can be drained. The other one stays: the minimum of general is 1.",
			do:    allowOne("ledger"),
			until: "general has 1 machine",
			ended: func(b *board) bool { return b.settledAt(map[string]int{"general": 1, "large": 1, "batch": 0}) },
			lasts: 2 * time.Second, // late events arrive, and what still goes on shows itself
		},
	}
}

// predict says what has to become of the groups and apps. The acts' texts say why. first are the machines that exist, by group.
func predict(groups []nodeGroup, first map[string][]string) ([]checker.Group, []checker.App) {
	bought := map[string]int{"general": 6, "large": 1, "batch": 3}
	final := map[string]int{"general": 1, "large": 1}
	var predicted []checker.Group
	for _, g := range groups {
		predicted = append(predicted, checker.Group{
			Name: g.name, Min: g.min, Max: g.max, First: first[g.name], Bought: bought[g.name], Final: final[g.name],
		})
	}
	return predicted, []checker.App{
		{Name: "web", Running: 3},
		{Name: "ledger", Running: 2},
		{Name: "report", Finished: 12},
		{Name: "cache", Running: 2},
		{Name: "giant", Waiting: 1},
	}
}

// settledAt tells whether the groups have these sizes, nodes and machines agree, the pods that are to be there at the end run, and what
// machines that are gone have left was tidied up.
func (b *board) settledAt(sizes map[string]int) bool {
	for name, n := range sizes {
		if !b.sized(name, n) {
			return false
		}
	}
	for _, app := range b.story.Apps {
		n := b.app(app.Name)
		if n.healthy != app.Running || n.waiting != app.Waiting || n.ending > 0 {
			return false
		}
	}
	return len(b.nodes) == b.total() && b.readyNodes() == b.total() && b.orphans() == 0
}

// apply applies the manifests of apps.
func apply(apps ...string) func(context.Context, *player) error {
	return func(ctx context.Context, p *player) error {
		for _, app := range apps {
			text, err := manifest(app)
			if err != nil {
				return err
			}
			if err := p.cluster.Apply(ctx, text); err != nil {
				return err
			}
		}
		return nil
	}
}

func scale(deployment string, replicas int) func(context.Context, *player) error {
	return func(ctx context.Context, p *player) error {
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
		_, err := p.cluster.Client.AppsV1().Deployments(metav1.NamespaceDefault).
			Patch(ctx, deployment, types.MergePatchType, patch, metav1.PatchOptions{}, "scale")
		if err != nil {
			return fmt.Errorf("scaling Deployment %s: %w", deployment, err)
		}
		return nil
	}
}

// allowOne lets a budget give one pod away.
func allowOne(budget string) func(context.Context, *player) error {
	return func(ctx context.Context, p *player) error {
		patch := []byte(`{"spec":{"maxUnavailable":1}}`)
		_, err := p.cluster.Client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault).
			Patch(ctx, budget, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			return fmt.Errorf("changing PodDisruptionBudget %s: %w", budget, err)
		}
		return nil
	}
}

// keptMetric counts the nodes that stay, by reason.
var keptMetric = regexp.MustCompile(`(?m)^cluster_autoscaler_unremovable_nodes_count\{reason="(\w+)"\} (\d+)$`) //nolint:gochecknoglobals // a constant that Go can't spell

// showKept tells why nodes stay, as the autoscaler's metrics tell it.
func showKept(ctx context.Context, p *player) error {
	page, err := p.autoscaler.Metrics(ctx)
	if err != nil {
		return err
	}
	var reasons []string
	for _, found := range keptMetric.FindAllStringSubmatch(page, -1) {
		if found[2] != "0" {
			reasons = append(reasons, found[1]+" "+found[2])
		}
	}
	p.timeline.decision("keeps nodes, by reason (metric unremovable_nodes_count): " + strings.Join(reasons, ", "))
	return nil
}
