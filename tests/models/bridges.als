// A resource without ACLs is open to everyone; the plan gives it ACLs of several principals. A temporary allow-all ACL
// stands from before the first to after the last.
sig Principal {}
one sig Bridge {}
sig Broker { var own: set Principal, var kept: lone Bridge }
var sig Created in Principal {}
var lone sig Standing, Gone in Bridge {}
abstract sig Fault {}
lone sig NoBridge, NoWait extends Fault {}

pred build { no Standing + Gone + Created and Standing' = Bridge and same[Created, Gone] and unseen }
pred same[a: set Principal, g: set Bridge] { Created' = a and Gone' = g }
pred unseen { own' = own and kept' = kept }
pred create[p: Principal] {
  p not in Created and (some Standing + Gone or some NoBridge)
  Created' = Created + p and Standing' = Standing and Gone' = Gone and unseen
}
pred remove {
  some Standing and Created = Principal
  no NoWait implies all b: Broker | b.own = Principal
  no Standing' and Gone' = Bridge and Created' = Created and unseen
}
// Creations show in order: the temporary ACL first. Its deletion may show at any time after it was sent.
pred show[b: Broker] {
  Created' = Created and Standing' = Standing and Gone' = Gone
  (some Standing and no b.kept and own' = own and kept' = kept + b->Bridge)
  or (some p: Created - b.own | (some b.kept or some NoBridge or some Gone) and own' = own + b->p and kept' = kept)
  or (some Gone and some b.kept and own' = own and kept' = kept - b->Bridge)
}
pred nothing { Created' = Created and Standing' = Standing and Gone' = Gone and unseen }
fact {
  no Created and no Standing and no Gone and no own and no kept
  always (nothing or build or remove or (some p: Principal | create[p]) or some b: Broker | show[b])
}
pred lawful { all b: Broker | some b.own and no b.kept implies b.own = Principal }
check Safe { no Fault implies always lawful } for 2 but exactly 2 Principal, 10 steps expect 0
check WithoutBridge { no NoWait implies always lawful } for 2 but exactly 2 Principal, 10 steps expect 1
check WithoutWait { no NoBridge implies always lawful } for 2 but exactly 2 Principal, 10 steps expect 1
