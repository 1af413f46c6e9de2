package digitalocean

import (
	"sync"

	"example.com/cluster-autoscaler/cloudprovider"
)

// The reasons of notices.
const (
	reasonTemplate  = "DigitalOceanTemplateUnusable"
	reasonPool      = "DigitalOceanPoolOdd"
	reasonNode      = "DigitalOceanNodeOdd"
	reasonAccess    = "DigitalOceanAccess"
	reasonShortfall = "DigitalOceanGrantedFewer"
	reasonSwitched  = "DigitalOceanPoolSwitched"
)

// mostNotes is how many notices are kept while nobody asks for them; the oldest go first.
const mostNotes = 100

// notes collects what came up. The zero value is ready.
type notes struct {
	mu   sync.Mutex
	list []cloudprovider.Notice
}

func (n *notes) add(notice cloudprovider.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, notice)
	if surplus := len(n.list) - mostNotes; surplus > 0 {
		n.list = n.list[surplus:]
	}
}

func (n *notes) take() []cloudprovider.Notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.list
	n.list = nil
	return list
}

// told remembers what was told last about each thing, so that it is told once.
type told map[string]string

// news tells whether a text about a thing is worth telling: it differs from the last and says something.
func (t told) news(about, text string) bool {
	if t[about] == text {
		return false
	}
	if text == "" {
		delete(t, about)
		return false
	}
	t[about] = text
	return true
}
