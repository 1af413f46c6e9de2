package digitalocean

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/doapi"
)

// The provider ids. Only the first form is ever written to a Node; the others stand for machines that are to come.
const (
	prefix            = "digitalocean://"
	prefixPending     = prefix + "pending-"
	prefixPlaceholder = prefix + "placeholder-"
)

func dropletID(droplet string) string { return prefix + droplet }
func pendingID(node string) string    { return prefixPending + node }
func placeID(pool string, number int) string {
	return prefixPlaceholder + pool + "-" + strconv.Itoa(number)
}

// idOf is the provider id of a node as it is.
func idOf(node doapi.Node) string {
	if node.DropletID == "" {
		return pendingID(node.ID)
	}
	return dropletID(node.DropletID)
}

// failureLife is how long after its creation a node in a state that nobody knows may be taken for one that failed.
const failureLife = 2 * time.Hour

// instances lists the nodes of a pool and the places of those that are to come. Call with mu held.
func (b *book) instances(now time.Time) []cloudprovider.Instance {
	list := make([]cloudprovider.Instance, 0, len(b.pool.Nodes)+len(b.places))
	for _, node := range b.pool.Nodes {
		list = append(list, b.instance(node, now))
	}
	for number, since := range b.places {
		list = append(list, cloudprovider.Instance{
			ID: placeID(b.id, number), State: cloudprovider.InstanceCreating, Placeholder: true, Type: b.pool.Size, RequestedAt: since,
		})
	}
	return list
}

func (b *book) instance(node doapi.Node, now time.Time) cloudprovider.Instance {
	i := cloudprovider.Instance{ID: idOf(node), Type: b.pool.Size, RequestedAt: node.CreatedAt, Placeholder: node.DropletID == ""}
	switch {
	case node.Ending():
		i.State = cloudprovider.InstanceDeleting
	case node.State == doapi.Provisioning:
		i.State = cloudprovider.InstanceCreating
	case node.State == doapi.Running && node.DropletID != "":
		i.State = cloudprovider.InstanceRunning
	case node.State == doapi.Running, !node.HasStatus && node.DropletID == "":
		i.State = cloudprovider.InstanceCreating
	case !node.HasStatus:
		i.State = cloudprovider.InstanceRunning
	default:
		i.State, i.Error = b.unknown(node, now)
	}
	if i.State == cloudprovider.InstanceDeleting {
		i.Placeholder = false // it stands for nothing that may still come
	}
	return i
}

// unknown judges a node in a state that is none of the API's. One that has worked must not be deleted for a new word in the API.
func (b *book) unknown(node doapi.Node, now time.Time) (cloudprovider.InstanceState, *cloudprovider.InstanceError) {
	if b.worked(node) || node.DropletID != "" && now.Sub(node.CreatedAt) >= failureLife {
		return cloudprovider.InstanceRunning, nil
	}
	if node.Message == "" {
		return cloudprovider.InstanceCreating, nil
	}
	e := &cloudprovider.InstanceError{Class: cloudprovider.ErrorClassOther, Code: codeFailed, Message: node.Message}
	switch doapi.Shortage(node.Message) {
	case doapi.Quota:
		e.Class, e.Code = cloudprovider.ErrorClassOutOfResources, codeQuota
	case doapi.Capacity:
		e.Class, e.Code = cloudprovider.ErrorClassOutOfResources, codeCapacity
	default: // something else
	}
	return cloudprovider.InstanceCreating, e
}

// worked tells whether the node was seen running or registered.
func (b *book) worked(node doapi.Node) bool { return b.ran[node.ID] || b.joined[node.ID] }

// failed tells whether a node will never come: it has no machine and says why.
func (b *book) failed(node doapi.Node, now time.Time) bool {
	return !node.Ending() && node.DropletID == "" && b.instance(node, now).Error != nil
}

// oddState describes a node in a state that nobody knows; empty: it is in none.
func oddState(node doapi.Node) string {
	switch {
	case !node.HasStatus, node.State == doapi.Provisioning, node.State == doapi.Running, node.Ending():
		return ""
	case node.Message != "":
		return fmt.Sprintf("node %s is in state %q: %s", cmp.Or(node.Name, node.ID), node.State, node.Message)
	default:
		return fmt.Sprintf("node %s is in state %q, which is not known", cmp.Or(node.Name, node.ID), node.State)
	}
}

// placeOf takes a placeholder's id apart.
func placeOf(providerID string) (pool string, ok bool) {
	rest, ok := strings.CutPrefix(providerID, prefixPlaceholder)
	if !ok {
		return "", false
	}
	cut := strings.LastIndex(rest, "-")
	if cut < 0 {
		return "", false
	}
	_, err := strconv.Atoi(rest[cut+1:])
	return rest[:cut], err == nil
}
