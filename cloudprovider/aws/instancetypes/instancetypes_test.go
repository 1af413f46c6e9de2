package instancetypes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheBuiltinListHoldsTheKnownFactsOfEachKindOfType(t *testing.T) {
	list, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	if list.Len() != 1380 || list.AsOf() != "2026-08" {
		t.Errorf("%d types as of %s, want 1380 as of 2026-08", list.Len(), list.AsOf())
	}
	for _, want := range []Type{
		{Name: "m5.large", VCPUs: 2, MemoryMiB: 8192, Architecture: "amd64", ENIs: 3, IPv4PerENI: 10},
		{Name: "mac2.metal", VCPUs: 8, MemoryMiB: 16384, Architecture: "arm64", ENIs: 8, IPv4PerENI: 30},
		{Name: "a1.metal", VCPUs: 16, MemoryMiB: 32768, Architecture: "arm64", ENIs: 8, IPv4PerENI: 30},
		{Name: "g5.12xlarge", VCPUs: 48, MemoryMiB: 196608, Architecture: "amd64", GPUs: 4, GPUManufacturer: "NVIDIA",
			GPUModel: "A10G", EFAInterfaces: 1, ENIs: 15, IPv4PerENI: 50, LocalStorageGB: 3800},
		{Name: "g4ad.xlarge", VCPUs: 4, MemoryMiB: 16384, Architecture: "amd64", GPUs: 1, GPUManufacturer: "AMD",
			GPUModel: "Radeon Pro V520", ENIs: 2, IPv4PerENI: 4, LocalStorageGB: 150},
		{Name: "inf2.24xlarge", VCPUs: 96, MemoryMiB: 393216, Architecture: "amd64", NeuronDevices: 6, ENIs: 15, IPv4PerENI: 50},
		{Name: "dl1.24xlarge", VCPUs: 96, MemoryMiB: 786432, Architecture: "amd64", GPUs: 8, GPUManufacturer: "Habana",
			GPUModel: "Gaudi HL-205", NeuronDevices: Unknown, EFAInterfaces: Unknown, ENIs: Unknown, IPv4PerENI: Unknown,
			LocalStorageGB: Unknown},
	} {
		got, ok := list.Lookup(want.Name)
		if !ok {
			t.Errorf("%s is missing", want.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Name, diff)
		}
	}
	if _, ok := list.Lookup("m5.lar"); ok {
		t.Error("half a name was found")
	}
}

func TestTheFamilyTellsTheCoresOfNeuronDevices(t *testing.T) {
	list, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"inf1.6xlarge": 16, "inf2.24xlarge": 12, "trn1.32xlarge": 32, "trn2.48xlarge": 128, "m5.large": 0, "dl1.24xlarge": 0} {
		if got, ok := list.Lookup(name); !ok || got.NeuronCores() != want {
			t.Errorf("%s: %d cores of %d devices, want %d", name, got.NeuronCores(), got.NeuronDevices, want)
		}
	}
}

func TestAllIsSortedAndACopy(t *testing.T) {
	list, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	all := list.All()
	for i := 1; i < len(all); i++ {
		if all[i-1].Name >= all[i].Name {
			t.Fatalf("%s stands before %s", all[i-1].Name, all[i].Name)
		}
	}
	name := all[0].Name
	all[0].VCPUs = 4711
	if got, _ := list.Lookup(name); got.VCPUs == 4711 {
		t.Error("a change of the result changed the list")
	}
}

func TestTheNameTellsBareMetalAndBurstable(t *testing.T) {
	for name, want := range map[string]struct{ metal, burstable bool }{
		"m5.metal":           {metal: true},
		"m7i.metal-24xl":     {metal: true},
		"t3.medium":          {burstable: true},
		"t4g.nano":           {burstable: true},
		"trn1.2xlarge":       {},
		"u-6tb1.112xlarge":   {},
		"c7i-flex.metalwork": {},
	} {
		got := Type{Name: name}
		if got.BareMetal() != want.metal || got.Burstable() != want.burstable {
			t.Errorf("%s: bare metal %v, burstable %v", name, got.BareMetal(), got.Burstable())
		}
	}
}

func TestAPartOfAGPUIsOneLogicalGPU(t *testing.T) {
	list, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]int{"g6f.large": {0, 1}, "g6.48xlarge": {8, 8}, "m5.large": {0, 0}} {
		if got, _ := list.Lookup(name); got.GPUs != want[0] || got.LogicalGPUs() != want[1] {
			t.Errorf("%s: %d whole and %d logical GPUs, want %v", name, got.GPUs, got.LogicalGPUs(), want)
		}
	}
}

func TestABrokenListIsRefusedWithTheLine(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"a size before a family": {"\tlarge 2 8192 3x10", "line 1"},
		"an odd architecture":    {"m5 mips", "neither amd64 nor arm64"},
		"a short line":           {"m5 amd64\n\tlarge 2 8192", "line 2"},
		"no addresses":           {"m5 amd64\n\tlarge 2 8192 3", `"" isn't a count`},
		"unknown memory":         {"m5 amd64\n\tlarge 2 ? 3x10", "both must be known"},
		"an unknown fact":        {"m5 amd64\n\tlarge 2 8192 3x10 wings=2", `unknown fact "wings"`},
		"GPUs without a model":   {"m5 amd64\n\tlarge 2 8192 3x10 gpus=1", "1 GPUs"},
		"a name twice":           {"m5 amd64\n\tlarge 2 8192 3x10\n\tlarge 2 8192 3x10", "m5.large occurs twice"},
		"a maker alone":          {"g5 amd64 NVIDIA", "MAKER/MODEL"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(tc.text)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want one that contains %q", err, tc.want)
			}
		})
	}
}

func FuzzParseNeverPanicsAndKeepsItsPromises(f *testing.F) {
	f.Add("as-of 2026-08\nm5 amd64\n\tlarge 2 8192 3x10\n")
	f.Add("g5 amd64 NVIDIA/A10G\n\txlarge 4 16384 ?x? gpus=1 neuron=? disk=250\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Parse(text)
		if err != nil {
			return
		}
		for _, got := range list.All() {
			if got.VCPUs <= 0 || got.MemoryMiB <= 0 || got.Architecture == "" {
				t.Errorf("accepted %+v", got)
			}
			if found, ok := list.Lookup(got.Name); !ok || found != got {
				t.Errorf("Lookup(%q) = %+v, %v", got.Name, found, ok)
			}
		}
	})
}
