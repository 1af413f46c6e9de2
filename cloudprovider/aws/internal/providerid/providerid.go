package providerid

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind says what a provider id stands for.
type Kind int

// The kinds.
const (
	None        Kind = iota // no provider id
	Instance                // an EC2 instance
	Placeholder             // a machine that was asked for and doesn't exist yet
	Fargate                 // a Fargate pod's node
	ForeignAWS              // something else on AWS, for example SageMaker HyperPod
	Foreign                 // another cloud, EKS hybrid nodes, kwok, or no id at all
)

// String returns the word used in logs.
func (k Kind) String() string {
	switch k {
	case None:
		return "none"
	case Instance:
		return "instance"
	case Placeholder:
		return "placeholder"
	case Fargate:
		return "Fargate"
	case ForeignAWS:
		return "foreign AWS"
	case Foreign:
		return "foreign"
	default:
		return fmt.Sprintf("Kind(%d)", int(k))
	}
}

// ID is a parsed provider id.
type ID struct {
	Kind Kind
	// Zone is the second part of the id; it may be empty, and kubelet and AWS may disagree about it. Never use it as a key.
	Zone string
	// Name is what to look a machine up by: the EC2 instance id or the name of the placeholder. Empty for all other kinds.
	Name string
	// Group and Number are set for placeholders only.
	Group  string
	Number int
}

const (
	prefix            = "aws:///"
	instancePrefix    = "i-"
	placeholderPrefix = "i-placeholder-"
	fargatePrefix     = "fargate-"
)

// Parse never fails: whatever isn't ours is ForeignAWS or Foreign. A Name is never empty for Instance and Placeholder.
func Parse(text string) ID {
	if text == "" {
		return ID{Kind: None}
	}
	rest, ours := strings.CutPrefix(text, prefix)
	if !ours {
		return ID{Kind: Foreign}
	}
	zone, rest, _ := strings.Cut(rest, "/")
	name, third, more := strings.Cut(rest, "/")
	if more && strings.HasPrefix(third, fargatePrefix) {
		return ID{Kind: Fargate, Zone: zone}
	}
	if third != "" || !isZone(zone) {
		return ID{Kind: ForeignAWS, Zone: zone}
	}
	if strings.HasPrefix(name, placeholderPrefix) {
		return parsePlaceholder(zone, name)
	}
	if isInstance(name) {
		return ID{Kind: Instance, Zone: zone, Name: name}
	}
	return ID{Kind: ForeignAWS, Zone: zone}
}

// OfInstance is the id that the node of an instance carries.
func OfInstance(zone, instance string) string { return prefix + zone + "/" + instance }

// OfPlaceholder is the id of the placeholder with this number in a group. Numbers are never used twice, see package placeholders.
func OfPlaceholder(zone, group string, number int) string {
	return prefix + zone + "/" + placeholderName(group, number)
}

// placeholderName keeps group names as they are, apart from slashes, which would cut the id into parts.
func placeholderName(group string, number int) string {
	return placeholderPrefix + escaper().Replace(group) + "-" + strconv.Itoa(number)
}

func escaper() *strings.Replacer   { return strings.NewReplacer("%", "%25", "/", "%2F") }
func unescaper() *strings.Replacer { return strings.NewReplacer("%25", "%", "%2F", "/") }

func parsePlaceholder(zone, name string) ID {
	foreign := ID{Kind: ForeignAWS, Zone: zone}
	rest := strings.TrimPrefix(name, placeholderPrefix)
	dash := strings.LastIndexByte(rest, '-')
	if dash <= 0 {
		return foreign
	}
	number, err := strconv.Atoi(rest[dash+1:])
	if err != nil || number < 0 {
		return foreign
	}
	id := ID{Kind: Placeholder, Zone: zone, Name: name, Group: unescaper().Replace(rest[:dash]), Number: number}
	if placeholderName(id.Group, id.Number) != name { // a second spelling of the same place would be a second machine to others
		return foreign
	}
	return id
}

// isZone accepts the names of Availability, Local and Wavelength Zones, and no name at all.
func isZone(zone string) bool {
	for _, r := range zone {
		if r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') {
			return false
		}
	}
	return true
}

// isInstance accepts i- and lower-case hex digits, of any number: AWS has used 8 and 17.
func isInstance(name string) bool {
	digits, ok := strings.CutPrefix(name, instancePrefix)
	if !ok || digits == "" {
		return false
	}
	return strings.Trim(digits, "0123456789abcdef") == ""
}
