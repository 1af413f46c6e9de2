package digitalocean

import (
	"strings"

	"example.com/cluster-autoscaler/cloudprovider"
)

// tell notes something about a pool, once per change of the text; an empty text says that it is over. Call with mu held.
func (p *Provider) tell(b *book, reason, about, text string) {
	if b.told.news(about, text) {
		p.notes.add(cloudprovider.Notice{Reason: reason, Group: cloudprovider.GroupID(b.id), Message: "pool " + b.pool.Name + ": " + text})
	}
}

func (p *Provider) tellList(b *book, reason, about string, texts []string) {
	p.tell(b, reason, about, strings.Join(texts, "; "))
}

// tellNodes notes nodes in odd states, each once per state. Call with mu held.
func (p *Provider) tellNodes(b *book) {
	for _, node := range b.pool.Nodes {
		p.tell(b, reasonNode, "node "+node.ID, oddState(node))
	}
}

// tellSwitched notes that a pool became a node group or ceased to be one. Call with mu held.
func (p *Provider) tellSwitched(b *book, on bool) {
	text := "auto_scale was switched off: it is no node group any more, and nothing is written to it"
	if on {
		text = "auto_scale was switched on: it is a node group"
	}
	p.notes.add(cloudprovider.Notice{Reason: reasonSwitched, Group: cloudprovider.GroupID(b.id), Message: "pool " + b.pool.Name + ": " + text, Normal: true})
}
