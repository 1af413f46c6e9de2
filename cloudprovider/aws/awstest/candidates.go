package awstest

import (
	"cmp"
	"slices"
	"strconv"

	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
)

// candidate is one kind of machine that a group can launch.
type candidate struct {
	typ    string
	weight int               // 0: the group has no weights
	ref    LaunchTemplateRef // with the number of the version; zero for a launch configuration
	config string
	image  string
	spot   bool // the template asks for the spot market
	block  bool // the template asks for a capacity block
	tags   map[string]string

	maxPrice float64 // for the spot market, per hour; 0: any
}

// candidates are the kinds of machine that a group can launch, best first. A failure tells why there is none; otherwise there is one at least.
func (w *world) candidates(g Group) ([]candidate, LaunchFailure) {
	switch {
	case g.LaunchConfiguration != "":
		c, ok := w.configs[g.LaunchConfiguration]
		if !ok {
			return nil, LaunchFailure("The launch configuration " + g.LaunchConfiguration + " does not exist." + launchingFailed)
		}
		return []candidate{{
			typ: c.InstanceType, config: c.Name, image: c.ImageID, spot: c.SpotPrice != "", maxPrice: amount(c.SpotPrice),
		}}, ""
	case g.LaunchTemplate != nil:
		return w.ofTemplate(g, Override{LaunchTemplate: g.LaunchTemplate})
	}
	overrides := g.MixedInstances.Overrides
	if len(overrides) == 0 {
		overrides = []Override{{}}
	}
	var all []candidate
	for _, o := range overrides {
		if o.LaunchTemplate == nil {
			o.LaunchTemplate = &g.MixedInstances.LaunchTemplate
		}
		some, why := w.ofTemplate(g, o)
		if why != "" {
			return nil, why
		}
		all = append(all, some...)
	}
	return all, ""
}

// ofTemplate are the candidates of one launch template with what an override changes.
func (w *world) ofTemplate(g Group, o Override) ([]candidate, LaunchFailure) {
	t, ok := w.template(o.LaunchTemplate.ID, o.LaunchTemplate.Name)
	if !ok {
		return nil, LaunchTemplateGone
	}
	v, ok := t.version(o.LaunchTemplate.Version)
	if !ok {
		return nil, LaunchTemplateGone
	}
	image := o.ImageID
	if image == "" {
		image = w.resolveImage(v.ImageID)
	}
	if w.images[image].Gone {
		return nil, LaunchFailure("The image id '[" + image + "]' does not exist." + launchingFailed)
	}
	base := candidate{
		weight: o.Weight, ref: LaunchTemplateRef{ID: t.ID, Name: t.Name, Version: strconv.Itoa(v.Number)},
		image: image, spot: v.Spot, block: v.CapacityBlock, tags: v.InstanceTags, maxPrice: amount(v.SpotMaxPrice),
	}
	if g.MixedInstances != nil {
		base.maxPrice = amount(g.MixedInstances.SpotMaxPrice)
	}
	typ, requirements := o.InstanceType, o.Requirements
	if typ == "" && requirements == nil {
		typ, requirements = v.InstanceType, v.Requirements
	}
	if typ != "" {
		base.typ = typ
		base.weight = w.weigh(g, base)
		return []candidate{base}, ""
	}
	if requirements == nil {
		return nil, LaunchTemplateWithoutInstanceType
	}
	var all []candidate
	for _, t := range w.selectTypes(*requirements, w.architecturesOf(image)) {
		c := base
		c.typ = t.Name
		c.weight = w.weigh(g, c)
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, LaunchFailure("No instance type satisfies the instance requirements." + launchingFailed)
	}
	return all, ""
}

// weigh is the weight of a candidate: its own, or what the group's capacity type makes of the type.
func (w *world) weigh(g Group, c candidate) int {
	switch g.DesiredCapacityType {
	case "vcpu":
		return w.types[c.typ].VCPUs
	case "memory-mib":
		return int(w.types[c.typ].MemoryMiB)
	}
	return c.weight
}

// selectTypes are the types that fit requirements and one of the EC2 architectures (none given: any), smallest first.
func (w *world) selectTypes(r Requirements, archs []string) []instancetypes.Type {
	var fit []instancetypes.Type
	for _, t := range w.types.sorted() {
		runs := len(archs) == 0 || slices.ContainsFunc(architectures(t), func(a string) bool { return slices.Contains(archs, a) })
		if runs && r.matches(t) {
			fit = append(fit, t)
		}
	}
	slices.SortStableFunc(fit, func(a, b instancetypes.Type) int {
		return cmp.Or(cmp.Compare(a.VCPUs, b.VCPUs), cmp.Compare(a.MemoryMiB, b.MemoryMiB))
	})
	return fit
}

// resolveImage turns resolve:ssm:NAME into the AMI id behind it; other text stays as it is.
func (w *world) resolveImage(image string) string {
	if id, ok := w.aliases[image]; ok {
		return id
	}
	return image
}

// architecturesOf is the architecture of an image as a list; empty when the image isn't known.
func (w *world) architecturesOf(image string) []string {
	i, ok := w.images[image]
	if !ok {
		return nil
	}
	return []string{i.architecture()}
}

// amount reads a price in text; 0: there is none.
func amount(text string) float64 {
	price, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return price
}

func (i Image) architecture() string { return cmp.Or(i.Architecture, "x86_64") }

// nextMarket is the market of the group's next machine.
func nextMarket(g *group, c candidate) Market {
	switch {
	case c.block:
		return CapacityBlock
	case c.spot:
		return Spot
	}
	mixed := g.MixedInstances
	if mixed == nil {
		return OnDemand
	}
	onDemand, spot := 0, 0
	for _, m := range g.machines {
		switch {
		case !m.counts():
		case m.Market == Spot:
			spot += m.units()
		default:
			onDemand += m.units()
		}
	}
	if onDemand < mixed.OnDemandBase {
		return OnDemand
	}
	above := onDemand - mixed.OnDemandBase + spot
	if (spot+1)*100 <= mixed.SpotPercentAboveBase*(above+1) {
		return Spot
	}
	return OnDemand
}
