// Command apiserver is Kubernetes' API server with an etcd of its own in DIRECTORY, for tests of what it admits.
//
//	apiserver DIRECTORY FLAGS...        the flags of kube-apiserver, but for --etcd-servers
//
// No scheduler, controller or kubelet runs: objects are admitted and kept, and nothing comes of them.
package main

import (
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	etcd, err := store(os.Args[1])
	if err != nil {
		panic(err)
	}
	command := app.NewAPIServerCommand()
	command.SetArgs(append(os.Args[2:], "--etcd-servers=http://"+etcd.Clients[0].Addr().String()))
	os.Exit(cli.Run(command))
}

func store(directory string) (*embed.Etcd, error) {
	local := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config := embed.NewConfig()
	config.Dir, config.LogLevel, config.UnsafeNoFsync = directory, "error", true
	config.ListenClientUrls, config.AdvertiseClientUrls = local, local
	config.ListenPeerUrls, config.AdvertisePeerUrls = local, local
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	etcd, err := embed.StartEtcd(config)
	if err == nil {
		<-etcd.Server.ReadyNotify()
	}
	return etcd, err
}
