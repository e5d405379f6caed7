// A lease that ends by the clock, and requests that are under way for up to two ticks. Kafka applies a request, no
// matter who holds the lease by then: only a margin at the moment of sending keeps it out of the next holder's time.
open util/ordering[Tick]
sig Tick {}
abstract sig Operator { var ends: one Tick, var sent: lone Tick }
one sig One, Two extends Operator {}
one sig Clock { var now: one Tick }
var lone sig Landed in Operator {}
lone sig NoMargin, Paused {}

pred counts[o: Operator] { o.ends in Clock.now.nexts }
pred same[o: Operator] { all p: Operator - o | p.ends' = p.ends and p.sent' = p.sent }
pred take[o: Operator] {
  all p: Operator - o | not counts[p]
  some Clock.now.next.next.next.next
  o.ends' = Clock.now.next.next.next.next and o.sent' = o.sent and same[o] and now' = now and no Landed'
}
pred send[o: Operator] {
  counts[o] and (no NoMargin implies o.ends in Clock.now.next.next.nexts)
  no o.sent and o.sent' = Clock.now and o.ends' = o.ends and same[o] and now' = now and no Landed'
}
pred land[o: Operator] { some o.sent and no o.sent' and o.ends' = o.ends and same[o] and now' = now and Landed' = o }
// The client gives a request up after two ticks; a paused broker does not know that.
pred tick {
  no Paused implies all t: Operator.sent | Clock.now in t + t.next
  some Clock.now.next and Clock.now' = Clock.now.next and ends' = ends and sent' = sent and no Landed'
}
pred nothing { now' = now and ends' = ends and sent' = sent and no Landed' }
fact {
  Clock.now = first and ends = Operator->first and no sent and no Landed
  always (nothing or tick or some o: Operator | take[o] or send[o] or land[o])
}
pred lawful { always all o: Landed, p: Operator - o | not counts[p] }
check Safe { no NoMargin and no Paused implies lawful } for 3 but 9 Tick, 14 steps expect 0
check WithoutMargin { no Paused implies lawful } for 3 but 9 Tick, 12 steps expect 1
check PausedBroker { no NoMargin implies lawful } for 3 but 9 Tick, 12 steps expect 1
