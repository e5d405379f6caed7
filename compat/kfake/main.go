// Command kfake runs franz-go's Kafka cluster in memory, on loopback, until its standard input ends.
//
// It prints the bootstrap addresses on one line. The flags make it answer as brokers of other makes do, or as no
// broker should: tests/compat says which behavior each stands for.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	var (
		brokers    = flag.Int("brokers", 1, "how many brokers")
		id         = flag.String("cluster-id", "kfake", "id of the cluster")
		login      = flag.Bool("login", false, "SASL, for the super user admin and the user probe; both passwords are secret")
		mechanisms = flag.Bool("mechanisms", false, "name the SASL mechanisms in each handshake, as Kafka does and kfake does not")
		acls       = flag.String("acls", "kfake", "who keeps ACLs: kfake, which enforces them, or the stores open, nothing, cloud, which enforce none")
		delay      = flag.Duration("delay", 0, "how long until a change of ACLs shows; needs another store than kfake's")
		huge       = flag.Int("huge", 0, "so many further resources in each listing; needs another store than kfake's")
		odd        = flag.Bool("odd", false, "an ACL of codes that Kafka does not have; needs another store than kfake's")
		lose       = flag.String("lose", "", "KEY:COUNT: work is done, and its answer is never sent")
		double     = flag.String("double", "", "KEY:COUNT: each answer is sent twice")
		fail       = flag.String("fail", "", "KEY:CODE:COUNT: answers for items of an ACL request, each with this error code; needs another store")
		authorizer = flag.String("authorizer", "", "what brokers say that their authorizer.class.name is")
		throttle   = flag.Duration("throttle", 0, "answers say that the client was throttled for so long")
	)
	flag.Parse()
	traffic := &traffic{
		lose: parse(*lose, 2), double: parse(*double, 2), mechanisms: *mechanisms, throttle: int32(throttle.Milliseconds()),
	}
	options := []kfake.Opt{
		kfake.NumBrokers(*brokers), kfake.ClusterID(*id), kfake.EnableACLs(), kfake.ListenFn(traffic.listen),
		kfake.SeedTopics(1),
	}
	if *authorizer != "" {
		options = append(options, kfake.BrokerConfigs(map[string]string{"authorizer.class.name": *authorizer}))
	}
	if *login {
		options = append(options, kfake.EnableSASL())
		for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
			options = append(options, kfake.Superuser(mechanism, "admin", "secret"), kfake.User(mechanism, "probe", "secret"))
		}
	} else {
		options = append(options, kfake.Superuser("PLAIN", "", "")) // whoever connects without a login
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		log.Fatal(err)
	}
	if *acls != "kfake" {
		(&store{kind: *acls, delay: *delay, huge: *huge, odd: *odd, fail: parse(*fail, 3)}).serve(cluster)
	}
	fmt.Println(strings.Join(cluster.ListenAddrs(), ","))
	_, _ = io.Copy(io.Discard, os.Stdin)
	cluster.Close()
}

// parse reads numbers that colons separate; nothing where the flag is not given.
func parse(text string, want int) []int {
	if text == "" {
		return nil
	}
	parts := strings.Split(text, ":")
	numbers := make([]int, len(parts))
	for i, part := range parts {
		if _, err := fmt.Sscanf(part, "%d", &numbers[i]); err != nil || len(parts) != want {
			log.Fatalf("%q is not %d numbers with colons between", text, want)
		}
	}
	return numbers
}
