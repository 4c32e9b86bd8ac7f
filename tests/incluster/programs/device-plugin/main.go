// A device plugin that advertises devices that do not exist, by the kubelet's own protocol.
//
//	device-plugin -resource nvidia.com/gpu -count 2    advertises until it is killed
//	device-plugin -sick 1                              makes one device of the running one unhealthy
//
// The second form only writes a file, which the first one watches: so `kubectl exec` is enough to
// break devices, in a pod whose image holds nothing but this program.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	kubelet "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// How often the plugin looks whether devices fell ill and whether the kubelet was restarted.
const interval = 200 * time.Millisecond

func main() {
	resource := flag.String("resource", "nvidia.com/gpu", "the extended resource's name")
	count := flag.Int("count", 2, "how many devices there are")
	folder := flag.String("folder", kubelet.DevicePluginPath, "where the kubelet's socket is")
	state := flag.String("state", "/state/sick", "the file that says how many devices are unhealthy")
	sick := flag.Int("sick", -1, "write this number into the state file and end")
	flag.Parse()
	if *sick >= 0 {
		if err := os.WriteFile(*state, []byte(strconv.Itoa(*sick)), 0o644); err != nil {
			log.Fatal(err)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	p := &plugin{count: *count, state: *state}
	socket := filepath.Join(*folder, strings.ReplaceAll(*resource, "/", "_")+".sock")
	for ctx.Err() == nil {
		if err := p.serve(ctx, socket, *resource); err != nil {
			log.Print(err)
			pause(ctx)
		}
	}
}

// plugin answers the kubelet's calls. Which devices are sick is read anew each time.
type plugin struct {
	kubelet.UnimplementedDevicePluginServer
	count int
	state string
}

// serve answers one kubelet, from its start to its end.
func (p *plugin) serve(ctx context.Context, socket, resource string) error {
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	kubelet.RegisterDevicePluginServer(server, p)
	go func() { _ = server.Serve(listener) }()
	// Stop also ends the streams, and so tells the kubelet that the plugin has gone.
	defer server.Stop()
	if err := register(ctx, socket, resource); err != nil {
		return fmt.Errorf("the kubelet does not take %s: %w", resource, err)
	}
	log.Printf("registered %d of %s", p.count, resource)
	// A kubelet that starts empties the folder: that is how it asks everybody to register again.
	for ctx.Err() == nil {
		if _, err := os.Lstat(socket); err != nil {
			log.Print("the kubelet was restarted")
			return nil
		}
		pause(ctx)
	}
	return nil
}

// register tells the kubelet where the plugin's own socket is.
func register(ctx context.Context, socket, resource string) error {
	address := "unix://" + filepath.Join(filepath.Dir(socket), "kubelet.sock")
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = kubelet.NewRegistrationClient(connection).Register(ctx, &kubelet.RegisterRequest{
		Version:      kubelet.Version,
		Endpoint:     filepath.Base(socket),
		ResourceName: resource,
	})
	return err
}

func (p *plugin) GetDevicePluginOptions(context.Context, *kubelet.Empty) (*kubelet.DevicePluginOptions, error) {
	return &kubelet.DevicePluginOptions{}, nil
}

// ListAndWatch sends all devices at once and again whenever the health of one changes.
func (p *plugin) ListAndWatch(
	_ *kubelet.Empty, stream grpc.ServerStreamingServer[kubelet.ListAndWatchResponse],
) error {
	told := -1
	for stream.Context().Err() == nil {
		if sick := p.sick(); sick != told {
			log.Printf("%d of %d devices are unhealthy", sick, p.count)
			if err := stream.Send(&kubelet.ListAndWatchResponse{Devices: p.devices(sick)}); err != nil {
				return err
			}
			told = sick
		}
		pause(stream.Context())
	}
	return nil
}

// Allocate hands devices to a container in the way of the real one: by a variable.
func (p *plugin) Allocate(_ context.Context, asked *kubelet.AllocateRequest) (*kubelet.AllocateResponse, error) {
	answer := &kubelet.AllocateResponse{}
	for _, container := range asked.ContainerRequests {
		answer.ContainerResponses = append(answer.ContainerResponses, &kubelet.ContainerAllocateResponse{
			Envs: map[string]string{"NVIDIA_VISIBLE_DEVICES": strings.Join(container.DevicesIds, ",")},
		})
	}
	return answer, nil
}

// devices lists all of them; the last ones are the sick ones.
func (p *plugin) devices(sick int) []*kubelet.Device {
	devices := make([]*kubelet.Device, p.count)
	for i := range devices {
		devices[i] = &kubelet.Device{ID: fmt.Sprintf("GPU-fake-%d", i), Health: kubelet.Healthy}
		if i >= p.count-sick {
			devices[i].Health = kubelet.Unhealthy
		}
	}
	return devices
}

// sick reads how many devices are unhealthy; no file means none.
func (p *plugin) sick() int {
	text, err := os.ReadFile(p.state)
	if err != nil {
		return 0
	}
	sick, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return min(sick, p.count)
}

// pause waits a moment, or until ctx ends.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(interval):
	}
}
