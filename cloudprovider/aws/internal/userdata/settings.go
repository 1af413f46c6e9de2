package userdata

import (
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// Settings is what is understood. The zero value says nothing.
type Settings struct {
	// MaxPods is kubelet's limit of pods; 0: not told.
	MaxPods int
	// LocalDisks is how the instance store is used.
	LocalDisks LocalDisks
	// EKS tells that a set-up of EKS makes the node, with what that reserves.
	EKS bool
	// Bottlerocket tells that these are settings of Bottlerocket.
	Bottlerocket bool
}

// LocalDisks is how the disks of the instance store are used.
type LocalDisks int

// The uses.
const (
	DisksUnset  LocalDisks = iota // kubelet doesn't use them
	DisksRAID0                    // kubelet and the container runtime live on all of them together
	DisksRAID10                   // the same, with each byte kept twice
)

// largest is how much user data is looked at, unpacked: EC2 takes 16 KiB.
const largest = 1 << 20

// Parse reads user data as the API of EC2 has it, in base64. It never fails: what it cannot read says nothing.
func Parse(encoded string) Settings {
	var s Settings
	for _, part := range parts(encoded) {
		s.read(part)
	}
	return s
}

func (s *Settings) read(text string) {
	switch {
	case strings.Contains(text, "node.eks.aws/"):
		s.readNodeConfig(text)
	case bottlerocketSettings(text):
		s.readBottlerocket(text)
	default:
		s.readScript(text)
	}
}

// nodeConfig is what is used of nodeadm's document.
type nodeConfig struct {
	Kind string `json:"kind"`
	Spec struct {
		Kubelet struct {
			Config struct {
				MaxPods int `json:"maxPods"`
			} `json:"config"`
			Flags []string `json:"flags"`
		} `json:"kubelet"`
		Instance struct {
			LocalStorage struct {
				Strategy string `json:"strategy"`
			} `json:"localStorage"`
		} `json:"instance"`
	} `json:"spec"`
}

func (s *Settings) readNodeConfig(text string) {
	for document := range strings.SplitSeq("\n"+text, "\n---") {
		var config nodeConfig
		if err := yaml.Unmarshal([]byte(document), &config); err != nil || config.Kind != "NodeConfig" {
			continue
		}
		s.EKS = true
		s.limit(config.Spec.Kubelet.Config.MaxPods)
		s.readFlags(strings.Join(config.Spec.Kubelet.Flags, " "))
		s.useDisks(config.Spec.Instance.LocalStorage.Strategy)
	}
}

func (s *Settings) useDisks(strategy string) {
	switch strings.ToLower(strategy) {
	case "raid0":
		s.LocalDisks = DisksRAID0
	case "raid10":
		s.LocalDisks = DisksRAID10
	}
}

// limit notes a limit of pods that makes sense; the last one told wins.
func (s *Settings) limit(pods int) {
	if pods > 0 {
		s.MaxPods = pods
	}
}

// maxPodsFlag is kubelet's flag, in any quotes. bootstrap.sh hands it on.
var maxPodsFlag = regexp.MustCompile(`--max-pods[= ]["']?(\d{1,5})`)

func (s *Settings) readFlags(text string) {
	for _, found := range maxPodsFlag.FindAllStringSubmatch(text, -1) {
		s.limit(number(found[1]))
	}
}

// localDisksFlag is bootstrap.sh's way to say how to use the instance store.
var localDisksFlag = regexp.MustCompile(`--local-disks[= ]["']?(\w+)`)

// readScript reads the arguments of EKS' set-up scripts for Linux and Windows.
func (s *Settings) readScript(text string) {
	code := withoutComments(text)
	if !strings.Contains(code, "/etc/eks/bootstrap.sh") && !strings.Contains(code, "Start-EKSBootstrap") && !strings.Contains(code, "EKSBootstrapScriptFile") {
		return
	}
	s.EKS = true
	s.readFlags(code)
	if found := localDisksFlag.FindStringSubmatch(code); found != nil {
		s.useDisks(found[1])
	}
}

func withoutComments(script string) string {
	var code strings.Builder
	for line := range strings.Lines(script) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			code.WriteString(line)
		}
	}
	return code.String()
}

func bottlerocketSettings(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[settings.") || line == "[settings]" || strings.HasPrefix(line, "settings.") {
			return true
		}
	}
	return false
}

// readBottlerocket reads the few lines of TOML that matter: tables, dotted keys, numbers and texts.
func (s *Settings) readBottlerocket(text string) {
	s.EKS, s.Bottlerocket = true, true
	table := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if inside, ok := strings.CutPrefix(line, "["); ok && !strings.Contains(line, "=") {
			table = strings.TrimSpace(strings.Trim(strings.TrimSpace(inside), "[]"))
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		key = strings.Trim(strings.TrimSpace(key), `"`)
		if table != "" {
			key = table + "." + key
		}
		value, _, _ = strings.Cut(value, "#")
		switch {
		case key == "settings.kubernetes.max-pods":
			s.limit(number(strings.Trim(strings.TrimSpace(value), `"'`)))
		case strings.HasPrefix(key, "settings.bootstrap-commands.") && strings.Contains(value, "ephemeral-storage") && strings.Contains(value, "init"):
			s.LocalDisks = DisksRAID0
		}
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
