package main

import (
	"encoding/binary"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// traffic changes answers on their way: kfake has no hook for that.
type traffic struct {
	mu           sync.Mutex
	lose, double []int // key, and how many are left
	mechanisms   bool
	throttle     int32
}

func (t *traffic) listen(network, address string) (net.Listener, error) {
	inner, err := net.Listen(network, address)
	return &listener{inner, t}, err
}

type listener struct {
	net.Listener
	traffic *traffic
}

func (l *listener) Accept() (net.Conn, error) {
	inner, err := l.Listener.Accept()
	return &conn{Conn: inner, traffic: l.traffic, asked: make(map[uint32]request)}, err
}

type request struct{ key, version int16 }

// conn is one client's connection. kfake reads the size of a request and then all of it, and writes each answer at once.
type conn struct {
	net.Conn
	traffic *traffic
	mu      sync.Mutex
	asked   map[uint32]request // by correlation id
	head    []byte
	rest    int
}

func (c *conn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	c.note(into[:n])
	return n, err
}

// note remembers the key and version of each request: their first bytes after the size.
func (c *conn) note(data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(data) > 0 {
		if c.rest > 0 && len(c.head) == 12 {
			skip := min(c.rest, len(data))
			data, c.rest = data[skip:], c.rest-skip
			if c.rest == 0 {
				c.head = nil
			}
			continue
		}
		take := min(12-len(c.head), len(data))
		c.head, data = append(c.head, data[:take]...), data[take:]
		if len(c.head) == 12 {
			c.rest = int(binary.BigEndian.Uint32(c.head)) - 8
			c.asked[binary.BigEndian.Uint32(c.head[8:])] = request{
				int16(binary.BigEndian.Uint16(c.head[4:])), int16(binary.BigEndian.Uint16(c.head[6:])),
			}
			if c.rest == 0 {
				c.head = nil
			}
		}
	}
}

func (c *conn) Write(frame []byte) (int, error) {
	c.mu.Lock()
	asked := c.asked[binary.BigEndian.Uint32(frame[4:])]
	delete(c.asked, binary.BigEndian.Uint32(frame[4:]))
	c.mu.Unlock()
	if c.traffic.due(&c.traffic.lose, asked.key) {
		return len(frame), nil
	}
	sent := c.traffic.changed(asked, frame)
	if c.traffic.due(&c.traffic.double, asked.key) {
		sent = append(append([]byte{}, sent...), sent...)
	}
	if _, err := c.Conn.Write(sent); err != nil {
		return 0, err
	}
	return len(frame), nil
}

// due says whether this answer is one of those that are treated so, and counts it.
func (t *traffic) due(left *[]int, key int16) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if *left == nil || int(key) != (*left)[0] || (*left)[1] == 0 {
		return false
	}
	(*left)[1]--
	return true
}

// throttled are requests whose answers begin with throttle_time_ms, of the versions that clients use here.
var throttled = map[kmsg.Key]bool{
	kmsg.DescribeACLs: true, kmsg.CreateACLs: true, kmsg.DeleteACLs: true, kmsg.CreateTopics: true, kmsg.DeleteTopics: true,
	kmsg.DescribeConfigs: true, kmsg.IncrementalAlterConfigs: true, kmsg.DescribeClientQuotas: true, kmsg.AlterClientQuotas: true,
}

func (t *traffic) changed(asked request, frame []byte) []byte {
	answer := kmsg.ResponseForKey(asked.key)
	if answer == nil {
		return frame
	}
	answer.SetVersion(asked.version)
	body := 8
	if answer.IsFlexible() && asked.key != int16(kmsg.ApiVersions) {
		body++
	}
	switch {
	case t.throttle > 0 && throttled[kmsg.Key(asked.key)]:
		changed := append([]byte{}, frame...)
		binary.BigEndian.PutUint32(changed[body:], uint32(t.throttle))
		return changed
	case t.mechanisms && asked.key == int16(kmsg.SASLHandshake):
		handshake := answer.(*kmsg.SASLHandshakeResponse)
		if handshake.ReadFrom(frame[body:]) != nil || handshake.ErrorCode != 0 {
			return frame
		}
		handshake.SupportedMechanisms = []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}
		changed := handshake.AppendTo(append([]byte{}, frame[:body]...))
		binary.BigEndian.PutUint32(changed, uint32(len(changed)-4))
		return changed
	}
	return frame
}
