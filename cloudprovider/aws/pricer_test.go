package aws_test

import (
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// priced is a rig that reads prices; its groups are all listed by name. They may use the launch templates spot (m5.large) and large (m5.2xlarge, on demand)
// and the launch configuration spot.
func priced(t *testing.T, options aws.Options, groups ...awstest.Group) *rig {
	t.Helper()
	options.ReadPrices = true
	return stocked(t, options, groups...)
}

// stocked is priced without the reading of prices.
func stocked(t *testing.T, options aws.Options, groups ...awstest.Group) *rig {
	t.Helper()
	for _, g := range groups {
		options.Nodes = append(options.Nodes, "0:10:"+g.Name)
	}
	server, clock := newStandIn(t)
	r := &rig{t: t, clock: clock, server: server, observed: &observed{}}
	server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "spot", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large", Spot: true}}})
	server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "large", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.2xlarge"}}})
	server.PutLaunchConfiguration(awstest.LaunchConfiguration{Name: "spot", InstanceType: "m5.large", SpotPrice: "1"})
	for _, group := range groups {
		r.add(group)
	}
	r.provider = r.connect(options)
	return r
}

// load refreshes and waits for what that reads in the background.
func (r *rig) load() {
	r.t.Helper()
	r.refresh()
	r.provider.WaitForPrices()
}

// price is that of the next machine of a group in a zone.
func (r *rig) price(group, zone string) float64 {
	r.t.Helper()
	variants, err := r.group(group).Templates(r.ctx())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, v := range variants {
		if v.Node.Labels[corev1.LabelTopologyZone] != zone {
			continue
		}
		price, err := r.provider.GroupPricePerHour(cloudprovider.GroupID(group), v.Node)
		if err != nil {
			r.t.Fatal(err)
		}
		return price
	}
	r.t.Fatalf("group %s has no variant for zone %s", group, zone)
	return 0
}

func (r *rig) wantPrice(group, zone string, want float64) {
	r.t.Helper()
	if got := r.price(group, zone); math.Abs(got-want) > 1e-6 {
		r.t.Errorf("the next machine of %s in %s costs %v, want %v", group, zone, got, want)
	}
}

func TestGroupsCostWhatTheirMarketCosts(t *testing.T) {
	r := priced(t, aws.Options{},
		awstest.Group{Name: "plain", Max: 10},
		awstest.Group{Name: "configured", Max: 10, LaunchConfiguration: "spot"},
		awstest.Group{Name: "spot", Max: 10, LaunchTemplate: &awstest.LaunchTemplateRef{Name: "spot"}, Zones: []string{"eu-west-1a", "eu-west-1b"}},
		awstest.Group{Name: "mixed", Max: 10, MixedInstances: &awstest.MixedInstances{
			LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers"}, OnDemandBase: 1, SpotPercentAboveBase: 75, SpotStrategy: awstest.LowestPrice,
			Overrides: []awstest.Override{{InstanceType: "m5.xlarge"}, {InstanceType: "m5.large"}},
		}},
	)
	r.server.SetPrice(awstest.Price{Type: "m5.large", PerHour: 0.111})
	r.server.SetPrice(awstest.Price{Type: "m5.xlarge", PerHour: 0.222})
	r.server.SetSpotPrice(awstest.SpotPrice{Type: "m5.large", Zone: "eu-west-1a", PerHour: 0.03})
	r.server.SetSpotPrice(awstest.SpotPrice{Type: "m5.large", Zone: "eu-west-1b", PerHour: 0.05})
	r.load()
	r.wantPrice("plain", "eu-west-1a", 0.111)
	r.wantPrice("configured", "eu-west-1a", 0.03)
	r.wantPrice("spot", "eu-west-1a", 0.03)
	r.wantPrice("spot", "eu-west-1b", 0.05)
	r.wantPrice("mixed", "eu-west-1a", 0.222) // the base is empty
	if _, err := r.group("mixed").IncreaseSize(r.ctx(), 1); err != nil {
		t.Fatal(err)
	}
	r.after(time.Minute)
	r.wantPrice("mixed", "eu-west-1a", 0.25*0.222+0.75*0.03)
	if got := r.count("GetProducts"); got < 2 {
		t.Errorf("%d pages of the price list were read", got)
	}
}

func TestPricesAreReadAnewInTheBackground(t *testing.T) {
	r := priced(t, aws.Options{},
		awstest.Group{Name: "plain", Max: 10}, awstest.Group{Name: "spot", Max: 10, LaunchTemplate: &awstest.LaunchTemplateRef{Name: "spot"}})
	r.load()
	list, spot := r.count("GetProducts"), r.count("DescribeSpotPriceHistory")
	r.server.SetSpotPrice(awstest.SpotPrice{Type: "m5.large", Zone: "eu-west-1a", PerHour: 0.05})
	r.after(29 * time.Minute)
	r.provider.WaitForPrices()
	if got := r.count("DescribeSpotPriceHistory"); got != spot {
		t.Errorf("spot prices were read %d times after 29 minutes, want %d", got, spot)
	}
	r.after(time.Minute)
	r.provider.WaitForPrices()
	r.wantPrice("spot", "eu-west-1a", 0.05)
	r.server.SetPrice(awstest.Price{Type: "m5.large", PerHour: 0.3})
	r.after(11 * time.Hour)
	r.provider.WaitForPrices()
	if got := r.count("GetProducts"); got != list {
		t.Errorf("the price list was read anew after %d pages, want %d", got, list)
	}
	r.after(time.Hour)
	r.provider.WaitForPrices()
	r.wantPrice("plain", "eu-west-1a", 0.3)
}

func TestASpotTypeThatIsNewIsPricedWithinAMinute(t *testing.T) {
	r := priced(t, aws.Options{Nodes: []string{"0:10:late"}}, awstest.Group{Name: "spot", Max: 10, LaunchTemplate: &awstest.LaunchTemplateRef{Name: "spot"}})
	r.load()
	r.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "late", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.xlarge", Spot: true}}})
	r.server.SetSpotPrice(awstest.SpotPrice{Type: "m5.xlarge", Zone: "eu-west-1a", PerHour: 0.07})
	r.add(awstest.Group{Name: "late", Max: 10, LaunchTemplate: &awstest.LaunchTemplateRef{Name: "late"}})
	for range 2 {
		r.after(time.Minute)
		r.provider.WaitForPrices()
	}
	r.wantPrice("late", "eu-west-1a", 0.07)
}

func TestWithoutPermissionTheFormulaTellsAndScalingGoesOn(t *testing.T) {
	r := priced(t, aws.Options{},
		awstest.Group{Name: "plain", Max: 10}, awstest.Group{Name: "large", Max: 10, LaunchTemplate: &awstest.LaunchTemplateRef{Name: "large"}},
		awstest.Group{Name: "spot", Max: 10, LaunchTemplate: &awstest.LaunchTemplateRef{Name: "spot"}})
	r.server.Deny("pricing:GetProducts", "ec2:DescribeSpotPriceHistory")
	r.load()
	plain, large := r.price("plain", "eu-west-1a"), r.price("large", "eu-west-1a")
	if plain <= 0 || large <= plain || r.price("spot", "eu-west-1a") != plain {
		t.Errorf("prices %v, %v and %v for spot", plain, large, r.price("spot", "eu-west-1a"))
	}
	if _, err := r.group("plain").IncreaseSize(r.ctx(), 1); err != nil {
		t.Error(err)
	}
	r.server.Allow("pricing:GetProducts", "ec2:DescribeSpotPriceHistory")
	r.server.SetPrice(awstest.Price{Type: "m5.large", PerHour: 0.2})
	r.after(time.Minute)
	r.provider.WaitForPrices()
	r.wantPrice("plain", "eu-west-1a", 0.2)
}

func TestThePricesOfAFailedReadingStay(t *testing.T) {
	r := priced(t, aws.Options{}, awstest.Group{Name: "plain", Max: 10})
	r.server.SetPrice(awstest.Price{Type: "m5.large", PerHour: 0.2})
	r.load()
	r.server.Deny("pricing:GetProducts")
	r.after(13 * time.Hour)
	r.provider.WaitForPrices()
	r.wantPrice("plain", "eu-west-1a", 0.2)
}

func TestRefreshDoesNotWaitForPrices(t *testing.T) {
	gate := awstest.NewGate(awstest.BeforeEffect)
	r := priced(t, aws.Options{}, awstest.Group{Name: "plain", Max: 10})
	r.server.Inject(awstest.Fault{Action: "GetProducts", Count: awstest.Always, Effect: gate})
	r.refresh() // would hang
	if price := r.price("plain", "eu-west-1a"); price <= 0 {
		t.Errorf("price %v before the list was read", price)
	}
	gate.Release()
	r.provider.WaitForPrices()
}

func TestCleanupEndsTheReadingOfPrices(t *testing.T) {
	gate := awstest.NewGate(awstest.BeforeEffect) // which nobody opens
	r := priced(t, aws.Options{}, awstest.Group{Name: "plain", Max: 10})
	r.server.Inject(awstest.Fault{Action: "GetProducts", Count: awstest.Always, Effect: gate})
	r.refresh()
	<-gate.Arrived()
	if err := r.provider.Cleanup(r.ctx()); err != nil {
		t.Error(err)
	}
	r.provider.WaitForPrices()
}

func TestNobodyIsAskedForPricesThatAreNotWanted(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:10:plain"}}, awstest.Group{Name: "plain", Max: 10})
	r.load()
	if n := r.count("GetProducts") + r.count("DescribeSpotPriceHistory"); n != 0 {
		t.Errorf("%d questions", n)
	}
	if price := r.price("plain", "eu-west-1a"); price <= 0 {
		t.Errorf("price %v", price)
	}
}

func TestTheOverrideFileComesFirst(t *testing.T) {
	r := priced(t, aws.Options{PriceOverrides: []byte("prices: [{nodeGroups: [reserved], pricePerHour: 0}]\nfactors: [{types: ['m5.*'], factor: 0.5}]\n")},
		awstest.Group{Name: "plain", Max: 10}, awstest.Group{Name: "reserved", Max: 10})
	r.server.SetPrice(awstest.Price{Type: "m5.large", PerHour: 0.2})
	r.load()
	r.wantPrice("plain", "eu-west-1a", 0.1)
	r.wantPrice("reserved", "eu-west-1a", 0)
}

func TestAnOverrideFileWithMistakesEndsTheStart(t *testing.T) {
	server, clock := newStandIn(t)
	_, err := aws.New(testContext(t), aws.Options{Clock: clock, PriceOverrides: []byte("prices: [{types: [m5.large]}]"), Nodes: []string{"x"}, SDK: sdkOptions(server)})
	if err == nil || !strings.Contains(err.Error(), "--aws-price-overrides: prices[0]: pricePerHour is missing") || !strings.Contains(err.Error(), `--nodes="x"`) {
		t.Errorf("error %v", err)
	}
}

func TestNodesWithoutAGroupHaveThePriceOfTheirType(t *testing.T) {
	r := priced(t, aws.Options{}, awstest.Group{Name: "plain", Max: 10, Min: 1, Desired: 1})
	r.server.SetPrice(awstest.Price{Type: "m5.large", PerHour: 0.2})
	r.server.SetPrice(awstest.Price{Type: "m5.large", System: "Windows", PerHour: 0.4})
	r.load()
	stranger := &corev1.Node{}
	stranger.Labels = map[string]string{corev1.LabelInstanceTypeStable: "m5.large"}
	if price, err := r.provider.NodePricePerHour(stranger); err != nil || price != 0.2 {
		t.Errorf("a stranger costs %v, %v", price, err)
	}
	own := nodeOf(r.machines("plain")[0])
	if price, err := r.provider.NodePricePerHour(own); err != nil || price != 0.2 {
		t.Errorf("a node of a group costs %v, %v", price, err)
	}
	nothing := &corev1.Node{}
	if price, err := r.provider.NodePricePerHour(nothing); err == nil {
		t.Errorf("a node that tells nothing costs %v", price)
	}
	sized := &corev1.Node{Status: corev1.NodeStatus{Capacity: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("8Gi"),
	}}}
	if price, err := r.provider.NodePricePerHour(sized); err != nil || price <= 0 {
		t.Errorf("a node of a size costs %v, %v", price, err)
	}
}

func TestWindowsIsPricedAsSoonAsANodeHasIt(t *testing.T) {
	r := priced(t, aws.Options{}, awstest.Group{Name: "plain", Max: 10})
	r.server.SetPrice(awstest.Price{Type: "m5.large", PerHour: 0.2})
	r.server.SetPrice(awstest.Price{Type: "m5.large", System: "Windows", PerHour: 0.7})
	r.load()
	node := &corev1.Node{}
	node.Labels = map[string]string{corev1.LabelOSStable: "windows"}
	first, err := r.provider.GroupPricePerHour("plain", node)
	if err != nil || first <= 0 || first == 0.7 {
		t.Errorf("before its prices were read Windows costs %v, %v", first, err)
	}
	r.after(time.Minute)
	r.provider.WaitForPrices()
	if price, err := r.provider.GroupPricePerHour("plain", node); err != nil || price != 0.7 {
		t.Errorf("price %v, %v", price, err)
	}
}

func TestEKSTellsTheMarketOfANode(t *testing.T) {
	r := priced(t, aws.Options{}, awstest.Group{Name: "spot", Max: 10, LaunchTemplate: &awstest.LaunchTemplateRef{Name: "spot"}})
	r.server.SetPrice(awstest.Price{Type: "m5.large", PerHour: 0.2})
	r.server.SetSpotPrice(awstest.SpotPrice{Type: "m5.large", Zone: "eu-west-1a", PerHour: 0.05})
	r.load()
	for label, want := range map[string]float64{"SPOT": 0.05, "ON_DEMAND": 0.2, "CAPACITY_BLOCK": 0.2, "": 0.05} {
		node := &corev1.Node{}
		node.Labels = map[string]string{"eks.amazonaws.com/capacityType": label, corev1.LabelTopologyZone: "eu-west-1a"}
		if price, err := r.provider.GroupPricePerHour("spot", node); err != nil || price != want {
			t.Errorf("%q: price %v, %v; want %v", label, price, err, want)
		}
	}
}

func TestPodsCostTheirShareOfTheCheapestMachine(t *testing.T) {
	pod := func(cpu, memory string) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		}}}}}}
	}
	r := priced(t, aws.Options{}, awstest.Group{Name: "plain", Max: 10}, awstest.Group{Name: "large", Max: 10, LaunchTemplate: &awstest.LaunchTemplateRef{Name: "large"}})
	r.server.SetPrice(awstest.Price{Type: "m5.large", PerHour: 0.2})
	r.server.SetPrice(awstest.Price{Type: "m5.2xlarge", PerHour: 8})
	before, err := r.provider.PodPricePerHour(pod("1", "4Gi"))
	if err != nil || before <= 0 {
		t.Errorf("before the first refresh a pod costs %v, %v", before, err)
	}
	r.load()
	if price, err := r.provider.PodPricePerHour(pod("1", "4Gi")); err != nil || math.Abs(price-0.1) > 1e-6 {
		t.Errorf("half an m5.large costs %v, %v", price, err)
	}
	if price, err := r.provider.PodPricePerHour(pod("4", "16Gi")); err != nil || math.Abs(price-4) > 1e-6 {
		t.Errorf("half an m5.2xlarge costs %v, %v", price, err)
	}
}
