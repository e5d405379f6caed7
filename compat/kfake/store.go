package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// store keeps ACLs in kfake's place and decides nothing by them.
//
//	open     as Kafka keeps them
//	nothing  says yes, and keeps none
//	cloud    as Confluent Cloud lists them: by integers, but by resource ids where the filter names a principal
type store struct {
	kind  string
	delay time.Duration
	huge  int
	odd   bool
	fail  []int // key, code, and how many requests are left

	mu      sync.Mutex
	entries []*entry
	numbers map[string]int // the cloud's integer of each principal
}

type binding struct {
	kind      kmsg.ACLResourceType
	name      string
	pattern   kmsg.ACLResourcePatternType
	principal string
	host      string
	operation kmsg.ACLOperation
	permits   kmsg.ACLPermissionType
}

// entry is a binding that is listed from one moment until another; gone is zero while nobody deletes it.
type entry struct {
	binding
	shown, gone time.Time
}

func (e *entry) listed(now time.Time) bool {
	return !e.shown.After(now) && (e.gone.IsZero() || e.gone.After(now))
}

func (s *store) serve(cluster *kfake.Cluster) {
	s.numbers = make(map[string]int)
	for key, answer := range map[kmsg.Key]func(kmsg.Request) kmsg.Response{
		kmsg.DescribeACLs: s.describe, kmsg.CreateACLs: s.create, kmsg.DeleteACLs: s.delete,
	} {
		cluster.ControlKey(int16(key), func(asked kmsg.Request) (kmsg.Response, error, bool) {
			cluster.KeepControl()
			s.mu.Lock()
			defer s.mu.Unlock()
			return answer(asked), nil, true
		})
	}
}

// failure is the error code for the items of this request.
func (s *store) failure(key kmsg.Key) int16 {
	if s.fail == nil || s.fail[0] != int(key) || s.fail[2] == 0 {
		return 0
	}
	s.fail[2]--
	return int16(s.fail[1])
}

func (s *store) create(asked kmsg.Request) kmsg.Response {
	request := asked.(*kmsg.CreateACLsRequest)
	answer := request.ResponseKind().(*kmsg.CreateACLsResponse)
	code := s.failure(kmsg.CreateACLs)
	for _, one := range request.Creations {
		answer.Results = append(answer.Results, kmsg.CreateACLsResponseResult{ErrorCode: code})
		made := binding{
			one.ResourceType, one.ResourceName, one.ResourcePatternType,
			s.canonical(one.Principal), one.Host, one.Operation, one.PermissionType,
		}
		if code == 0 && s.kind != "nothing" && !s.has(made) {
			s.entries = append(s.entries, &entry{binding: made, shown: s.now()})
		}
	}
	return answer
}

func (s *store) has(wanted binding) bool {
	for _, one := range s.entries {
		if one.binding == wanted && one.gone.IsZero() {
			return true
		}
	}
	return false
}

func (s *store) delete(asked kmsg.Request) kmsg.Response {
	request := asked.(*kmsg.DeleteACLsRequest)
	answer := request.ResponseKind().(*kmsg.DeleteACLsResponse)
	code := s.failure(kmsg.DeleteACLs)
	for _, one := range request.Filters {
		answer.Results = append(answer.Results, kmsg.DeleteACLsResponseResult{ErrorCode: code})
		wanted := filter{
			one.ResourceType, one.ResourceName, one.ResourcePatternType, one.Principal, one.Host, one.Operation, one.PermissionType,
		}
		for _, held := range s.entries {
			if code == 0 && held.gone.IsZero() && s.matches(wanted, held.binding) {
				held.gone = s.now()
			}
		}
	}
	return answer
}

func (s *store) describe(asked kmsg.Request) kmsg.Response {
	request := asked.(*kmsg.DescribeACLsRequest)
	answer := request.ResponseKind().(*kmsg.DescribeACLsResponse)
	answer.ErrorCode = s.failure(kmsg.DescribeACLs)
	if answer.ErrorCode != 0 {
		return answer
	}
	wanted := filter{
		request.ResourceType, request.ResourceName, request.ResourcePatternType,
		request.Principal, request.Host, request.Operation, request.PermissionType,
	}
	now := time.Now()
	for _, held := range s.entries {
		if held.listed(now) && s.matches(wanted, held.binding) {
			answer.Resources = append(answer.Resources, s.row(held.binding, request.Principal))
		}
	}
	for number := range s.huge {
		answer.Resources = append(answer.Resources, s.row(binding{
			kmsg.ACLResourceTypeTopic, fmt.Sprintf("huge.%07d", number), kmsg.ACLResourcePatternTypeLiteral,
			"User:huge", "*", kmsg.ACLOperationRead, kmsg.ACLPermissionTypeAllow,
		}, request.Principal))
	}
	if s.odd {
		answer.Resources = append(answer.Resources, s.row(binding{99, "odd", 9, "User:odd", "*", 99, 9}, request.Principal))
	}
	return answer
}

func (s *store) row(held binding, asked *string) kmsg.DescribeACLsResponseResource {
	return kmsg.DescribeACLsResponseResource{
		ResourceType: held.kind, ResourceName: held.name, ResourcePatternType: held.pattern,
		ACLs: []kmsg.DescribeACLsResponseResourceACL{{
			Principal: s.shown(held.principal, asked), Host: held.host, Operation: held.operation, PermissionType: held.permits,
		}},
	}
}

type filter struct {
	kind      kmsg.ACLResourceType
	name      *string
	pattern   kmsg.ACLResourcePatternType
	principal *string
	host      *string
	operation kmsg.ACLOperation
	permits   kmsg.ACLPermissionType
}

// matches does not know MATCH patterns: the reconciler never filters by them.
func (s *store) matches(f filter, held binding) bool {
	return (f.kind == kmsg.ACLResourceTypeAny || f.kind == held.kind) &&
		(f.name == nil || *f.name == held.name) &&
		(f.pattern == kmsg.ACLResourcePatternTypeAny || f.pattern == held.pattern) &&
		(f.principal == nil || s.everybody(*f.principal) || s.canonical(*f.principal) == held.principal) &&
		(f.host == nil || *f.host == held.host) &&
		(f.operation == kmsg.ACLOperationAny || f.operation == held.operation) &&
		(f.permits == kmsg.ACLPermissionTypeAny || f.permits == held.permits)
}

// everybody: Confluent Cloud lists all principals by their resource ids for this filter.
func (s *store) everybody(principal string) bool { return s.kind == "cloud" && principal == "UserV2:*" }

// canonical is the one name under which a principal is kept: in the cloud an integer stands for its resource id.
func (s *store) canonical(principal string) string {
	if s.kind != "cloud" {
		return principal
	}
	id := strings.TrimPrefix(strings.TrimPrefix(principal, "UserV2:"), "User:")
	for name, number := range s.numbers {
		if fmt.Sprint(number) == id {
			return name
		}
	}
	name := "User:" + id
	if _, known := s.numbers[name]; !known && id != "*" {
		s.numbers[name] = 100001 + len(s.numbers)
	}
	return name
}

// shown is how a listing names a principal: by its integer, unless the filter named principals.
func (s *store) shown(principal string, asked *string) string {
	number, known := s.numbers[principal]
	if s.kind != "cloud" || asked != nil || !known {
		return principal
	}
	return fmt.Sprintf("User:%d", number)
}

// now is when a change shows that is made at this moment.
func (s *store) now() time.Time { return time.Now().Add(s.delay) }
