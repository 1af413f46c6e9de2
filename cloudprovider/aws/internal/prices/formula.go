package prices

import (
	"strings"

	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
)

// FormulaAsOf is the year whose price level the formula follows: Linux on demand in us-east-1.
const FormulaAsOf = "2025"

// The formula: so much per vCPU, per GiB of memory, per GB of local disk and per accelerator, times a factor for the family. It was
// fitted to a few list prices per class of families and is meant to order machines by cost, not to predict a bill: expect it within a
// fifth of the list for general, compute and memory families, and within half of it for accelerators.
const (
	perVCPU        = 0.0350
	perGiB         = 0.0034
	perDiskGB      = 0.0001  // SSD
	perHardDiskGB  = 0.00004 // the families d2, d3 and h1
	perWindowsVCPU = 0.046   // the licence
	partOfGPU      = 0.25    // of a type that has a part of an accelerator
	perNeuron      = 0.50
	perOtherGPU    = 1.00
)

// rates of one accelerator by model.
func acceleratorRate(model string) float64 {
	rates := map[string]float64{
		"T4": 0.33, "T4g": 0.29, "A10G": 0.81, "L4": 0.60, "L40S": 1.60, "RTX": 1.60, "V100": 2.60, "K80": 0.55, "M60": 0.60,
		"A100": 1.90, "H100": 5.20, "H200": 6.00, "B200": 12.5, "B300": 15.0, "Gaudi": 0.90, "Radeon": 0.20,
	}
	if rate, ok := rates[model]; ok {
		return rate
	}
	return perOtherGPU
}

// burstableRate is what the T families cost per GiB of memory: their prices follow nothing else.
func burstableRate(family string) float64 {
	switch family {
	case "t2":
		return 0.0116
	case "t3a":
		return 0.0094
	case "t4g":
		return 0.0084
	default:
		return 0.0104
	}
}

// parts is what a machine is made of, in money.
type parts struct{ cpu, memory, accelerators float64 }

func (p parts) sum() float64 { return p.cpu + p.memory + p.accelerators }

func partsOf(t instancetypes.Type) parts {
	return parts{cpu: perVCPU * float64(t.VCPUs), memory: perGiB * gib(t), accelerators: accelerators(t)}
}

func gib(t instancetypes.Type) float64 { return float64(t.MemoryMiB) / 1024 }

func accelerators(t instancetypes.Type) float64 {
	rate := acceleratorRate(t.GPUModel)
	switch {
	case t.GPUs > 0:
		return rate * float64(t.GPUs)
	case t.GPUModel != "":
		return rate * partOfGPU
	default:
		return perNeuron * float64(max(0, t.NeuronDevices))
	}
}

// formula is what a machine costs for an hour, roughly; never 0 for a type with CPUs or memory.
func formula(t instancetypes.Type, system System) float64 {
	p := partsOf(t)
	price := (p.cpu+p.memory)*familyFactor(t) + p.accelerators
	if t.Burstable() {
		price = burstableRate(t.Family()) * gib(t)
	}
	disk := perDiskGB
	if family := t.Family(); family == "d2" || family == "h1" || strings.HasPrefix(family, "d3") {
		disk = perHardDiskGB
	}
	price += disk * float64(max(0, t.LocalStorageGB))
	if system == Windows {
		price += perWindowsVCPU * float64(t.VCPUs)
	}
	return price
}

// familyFactor tells by the letters behind the generation what a family costs beside Intel machines of the same size.
func familyFactor(t instancetypes.Type) float64 {
	generation, letters := attributes(t.Family())
	factor := 1.0
	switch {
	case t.Architecture == "arm64":
		factor = 0.80
	case strings.Contains(letters, "a") && generation >= 7: // a whole core per vCPU
		factor = 1.15
	case strings.Contains(letters, "a"):
		factor = 0.90
	}
	if strings.Contains(letters, "n") {
		factor *= 1.25
	}
	return factor
}

// attributes splits a family such as m6gd into its generation, 6, and the letters behind it, gd.
func attributes(family string) (generation int, letters string) {
	start := strings.IndexAny(family, "0123456789")
	if start < 0 {
		return 0, ""
	}
	rest := family[start:]
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	for _, digit := range rest[:digits] {
		generation = generation*10 + int(digit-'0')
	}
	letters, _, _ = strings.Cut(rest[digits:], "-")
	return generation, letters
}
