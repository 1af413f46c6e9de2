package saved

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/simulator"
)

// learntGrain is how exactly it is stored when a node was last seen in good order. A group with live nodes is seen in every iteration, and the
// text would never stay the same; learnt facts count for days.
const learntGrain = time.Hour

// storedTemplate is a template of a fresh node as it stands in the text.
type storedTemplate struct {
	Group cloudprovider.GroupID `json:"group"`
	Zone  string                `json:"zone,omitempty"`
	Type  string                `json:"type,omitempty"`
	At    time.Time             `json:"at"`
	Node  *corev1.Node          `json:"node"`
	// CSINode is left out where no limits of volumes are known.
	CSINode *storagev1.CSINode `json:"csiNode,omitempty"`
	Pods    []*corev1.Pod      `json:"pods,omitempty"`
	// Described, Newest and Changed are what the cloud has said of such nodes.
	Described *nodeinfos.Description `json:"described,omitempty"`
	Newest    *nodeinfos.Description `json:"newest,omitempty"`
	Changed   time.Time              `json:"changed,omitzero"`
}

func storeTemplate(learnt nodeinfos.LearntTemplate) storedTemplate {
	stored := storedTemplate{
		Group: learnt.Group, Zone: learnt.Place.Zone, Type: learnt.Place.Type, At: learnt.At.UTC().Truncate(learntGrain),
		Node: bareNode(learnt.Template.Node), Described: learnt.Described, Newest: learnt.Newest, Changed: learnt.Changed.UTC(),
	}
	if csi := learnt.Template.CSINode; csi != nil {
		bare := &storagev1.CSINode{Spec: csi.Spec}
		bare.ObjectMeta = bareMeta(csi.ObjectMeta)
		stored.CSINode = bare
	}
	for _, pod := range learnt.Template.Pods {
		bare := &corev1.Pod{ObjectMeta: bareMeta(pod.ObjectMeta), Spec: pod.Spec}
		stored.Pods = append(stored.Pods, bare)
	}
	return stored
}

// bareNode is the node without what changes all the time or says nothing about other nodes.
func bareNode(node *corev1.Node) *corev1.Node {
	bare := &corev1.Node{ObjectMeta: bareMeta(node.ObjectMeta), Spec: node.Spec, Status: node.Status}
	bare.Status.Addresses, bare.Status.Images, bare.Status.VolumesInUse, bare.Status.VolumesAttached = nil, nil, nil, nil
	bare.Status.Conditions = make([]corev1.NodeCondition, 0, len(node.Status.Conditions))
	for _, condition := range node.Status.Conditions {
		bare.Status.Conditions = append(bare.Status.Conditions, corev1.NodeCondition{Type: condition.Type, Status: condition.Status})
	}
	return bare
}

// bareMeta keeps names, labels and annotations: some agents announce in annotations what a node or a pod is.
func bareMeta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: meta.Name, Namespace: meta.Namespace, UID: meta.UID, Labels: meta.Labels, Annotations: meta.Annotations, OwnerReferences: meta.OwnerReferences,
	}
}

func (s storedTemplate) load() nodeinfos.LearntTemplate {
	return nodeinfos.LearntTemplate{
		Group: s.Group, Place: nodeinfos.Place{Zone: s.Zone, Type: s.Type}, At: s.At,
		Template:  simulator.NodeTemplate{Node: s.Node, CSINode: s.CSINode, Pods: s.Pods},
		Described: s.Described, Newest: s.Newest, Changed: s.Changed,
	}
}

// sound tells whether the template can be used: the objects that its lists promise are there.
func (s storedTemplate) sound() bool {
	for _, pod := range s.Pods {
		if pod == nil {
			return false
		}
	}
	return s.Node != nil && s.Group != ""
}

// versionOf is a text that differs whenever the stored form may differ; empty: that cannot be told.
func versionOf(learnt nodeinfos.LearntTemplate) string {
	node := learnt.Template.Node
	if node.ResourceVersion == "" {
		return ""
	}
	var text strings.Builder
	text.WriteString(learnt.At.UTC().Truncate(learntGrain).Format(time.RFC3339))
	text.WriteString(" " + node.Name + " " + node.ResourceVersion)
	// What the cloud says changes together with one of these, or with the node.
	fmt.Fprintf(&text, " %t %t %s", learnt.Described != nil, learnt.Newest != nil, learnt.Changed.UTC().Format(time.RFC3339Nano))
	if csi := learnt.Template.CSINode; csi != nil {
		if csi.ResourceVersion == "" {
			return ""
		}
		text.WriteString(" " + csi.ResourceVersion)
	}
	for _, pod := range learnt.Template.Pods {
		if pod.ResourceVersion == "" {
			return "" // made from a DaemonSet that has no pod there
		}
		text.WriteString(" " + pod.Name + " " + pod.ResourceVersion)
	}
	return text.String()
}

// key tells the learnt templates apart.
type key struct {
	group cloudprovider.GroupID
	place nodeinfos.Place
}

// pressed is a template as JSON, and of which version.
type pressed struct {
	version string
	text    json.RawMessage
}

// press makes JSON of the learnt templates, or takes it from the last time.
func (e *Encoder) press(learnt []nodeinfos.LearntTemplate) ([]json.RawMessage, error) {
	kept := make(map[key]pressed, len(learnt))
	texts := make([]json.RawMessage, 0, len(learnt))
	for _, l := range learnt {
		k, version := key{l.Group, l.Place}, versionOf(l)
		known, ok := e.pressed[k]
		if !ok || version == "" || known.version != version {
			text, err := json.Marshal(storeTemplate(l))
			if err != nil {
				return nil, fmt.Errorf("storing what was learnt of group %s: %w", l.Group, err)
			}
			known = pressed{version: version, text: text}
		}
		kept[k] = known
		texts = append(texts, known.text)
	}
	e.pressed = kept
	return texts, nil
}
