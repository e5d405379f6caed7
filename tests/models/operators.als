// Two operators and a foreign hand on one object. Each operator looks before it sends, and stops if the object is not
// as its plan expects. A lease keeps operators apart; nothing keeps a foreign hand out between look and request.
sig Value {}
one sig Object { var value: Value }
abstract sig Operator { expects, wants: Value, var looked: lone Value, var holds: lone Object }
one sig One, Two extends Operator {}
var sig Overwrote in Operator {}
var lone sig Foreign in Object {}
lone sig NoLease, NoLook {}

pred same[o: Operator] { all p: Operator - o | p.looked' = p.looked and p.holds' = p.holds }
pred take[o: Operator] {
  no o.holds and (no NoLease implies no Operator.holds)
  o.holds' = Object and no o.looked' and same[o] and value' = value and Overwrote' = Overwrote and Foreign' = Foreign
}
pred look[o: Operator] {
  some o.holds and o.looked' = Object.value and o.holds' = o.holds and same[o]
  value' = value and Overwrote' = Overwrote and no Foreign'
}
pred send[o: Operator] {
  some o.holds and (no NoLook implies o.looked = o.expects)
  Object.value' = o.wants and no o.looked' and no o.holds' and same[o] and Foreign' = Foreign
  Overwrote' = (Object.value != o.expects => Overwrote + o else Overwrote)
}
pred give[o: Operator] {
  some o.holds and no o.holds' and no o.looked' and same[o] and value' = value and Overwrote' = Overwrote and Foreign' = Foreign
}
pred hand { Object.value' != Object.value and Foreign' = Object and looked' = looked and holds' = holds and Overwrote' = Overwrote }
pred nothing { value' = value and looked' = looked and holds' = holds and Overwrote' = Overwrote and Foreign' = Foreign }
fact {
  no looked and no holds and no Overwrote and no Foreign
  always (nothing or hand or some o: Operator | take[o] or look[o] or send[o] or give[o])
}
// Without a foreign change since somebody last looked, no operator overwrites what it did not expect.
pred lawful { always (no Foreign and no Overwrote implies (no Overwrote' or some Foreign')) }
check Safe { no NoLease and no NoLook implies lawful } for 3 but 8 steps expect 0
check WithoutLease { no NoLook implies lawful } for 3 but 8 steps expect 1
check WithoutLook { no NoLease implies lawful } for 3 but 8 steps expect 1
check NoFence { no NoLease and no NoLook implies always no Overwrote } for 3 but 8 steps expect 1
