// A lock is its DENYs with a mark, in one request; no plan lifts it. Break-glass access has its mark, which says when
// it ends, before it exists and for as long as it exists.
abstract sig Acl {}
one sig Denial, LockMark, Access, EndMark extends Acl {}
var sig There in Acl {}
var sig Flying in Acl {}
one sig Lock {}
var lone sig Locked in Lock {}
abstract sig Fault {}
lone sig PlanLifts, AccessFirst, Forgets extends Fault {}

pred lock { no Locked and Locked' = Lock and There' = There + Denial + LockMark and Flying' = Flying }
pred unlock { some Locked and no Locked' and There' = There - Denial - LockMark and Flying' = Flying }
// A plan deletes what nobody declares: all but a marked lock, and access with its mark.
pred plan {
  some a: There & (Denial + Access) | There' = There - a and (a = Denial and LockMark in There implies some PlanLifts)
  Locked' = Locked and Flying' = Flying
}
// Somebody deletes the mark; a server that remembers the lock writes it again before any plan is made.
pred forged { LockMark in There and some Forgets and There' = There - LockMark and Locked' = Locked and Flying' = Flying }
pred grant {
  no (Access + EndMark) & (There + Flying)
  (some AccessFirst => Flying' = Flying + Access + EndMark and There' = There
    else (There' = There + EndMark and Flying' = Flying + Access)) and Locked' = Locked
}
pred land { some a: Flying | There' = There + a and Flying' = Flying - a and Locked' = Locked }
pred forget { EndMark in There and no Access & (There + Flying) and There' = There - EndMark and Flying' = Flying and Locked' = Locked }
pred nothing { There' = There and Flying' = Flying and Locked' = Locked }
fact { no There and no Flying and no Locked and always (nothing or lock or unlock or plan or forged or grant or land or forget) }

pred lawful { always ((some Locked implies Denial in There) and (Access in There implies EndMark in There)) }
check Safe { no Fault implies lawful } for 4 but 9 steps expect 0
check PlanThatLifts { Fault in PlanLifts implies lawful } for 4 but 9 steps expect 1
check AccessBeforeItsMark { Fault in AccessFirst implies lawful } for 4 but 9 steps expect 1
check MarkDeletedUnseen { Fault in Forgets implies lawful } for 4 but 9 steps expect 1
