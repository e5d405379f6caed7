// Phases and the wait for brokers that lag. A broker shows creations in the order of sending; a deletion may show
// before them, until the run has seen that every broker enforces what was sent.
abstract sig Change {}
one sig CreateDeny, CreateAllow, DeleteAllow, DeleteDeny extends Change {}
var sig Sent in Change {}
sig Broker { var shown: set Change }
abstract sig Fault {}
lone sig NoWait, AllowFirst extends Fault {}

fun earlier: Change -> Change {
  some AllowFirst => CreateAllow->CreateDeny + CreateDeny->DeleteAllow + DeleteAllow->DeleteDeny
  else CreateDeny->CreateAllow + CreateAllow->DeleteAllow + DeleteAllow->DeleteDeny
}
pred send[c: Change] {
  c not in Sent and earlier.c in Sent
  c in DeleteAllow + DeleteDeny and no NoWait implies all b: Broker | b.shown = Sent
  Sent' = Sent + c and shown' = shown
}
pred show[b: Broker, c: Change] {
  c in Sent - b.shown
  c in CreateDeny + CreateAllow implies (earlier.c & (CreateDeny + CreateAllow)) in b.shown
  shown' = shown + b->c and Sent' = Sent
}
pred nothing { Sent' = Sent and shown' = shown }
fact { no Sent and no shown and always (nothing or (some c: Change | send[c] or some b: Broker | show[b, c])) }

// Four requests: kept (old ALLOW, new ALLOW), denied before and after (by either DENY), and those that only an old
// or only a new ALLOW matches, under the DENY of their own time.
pred lawful[b: Broker] {
  DeleteAllow in b.shown implies CreateAllow in b.shown
  DeleteDeny in b.shown implies CreateDeny in b.shown
  DeleteDeny in b.shown implies DeleteAllow in b.shown
  CreateAllow in b.shown implies CreateDeny in b.shown
}
check Safe { no Fault implies always all b: Broker | lawful[b] } for 3 but 10 steps expect 0
check WithoutWait { no AllowFirst implies always all b: Broker | lawful[b] } for 3 but 10 steps expect 1
check AllowsFirst { no NoWait implies always all b: Broker | lawful[b] } for 3 but 10 steps expect 1
