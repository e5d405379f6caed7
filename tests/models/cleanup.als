// Undo and cleanup of a dead run. A temporary ACL and its mark go out in one request, mark first, and are removed in
// the other order, so that nobody ever sees the ACL without knowing whose it is. Undo takes back what the run did.
one sig Bridge, Mark {}
var lone sig There in Bridge {}
var lone sig Marked in Mark {}
var lone sig Alive in Life {}
one sig Life {}
sig Step {}
var sig Did, ByOthers in Step {}
abstract sig Fault {}
lone sig MarkFirst, UndoAll, NoLife extends Fault {}
var lone sig Sent, Cleaning in Life {}

pred keep { Did' = Did and ByOthers' = ByOthers }
pred create { some Alive and no Sent and Sent' = Life and same and keep and Cleaning' = Cleaning and Alive' = Alive }
pred same { There' = There and Marked' = Marked }
pred arrives {
  some Sent and keep and Alive' = Alive and Cleaning' = Cleaning and Sent' = Sent
  (no Marked and Marked' = Mark and There' = There) or (some Marked and no There and There' = Bridge and Marked' = Marked)
}
pred dies { some Alive and no Alive' and Sent' = Sent and same and keep and Cleaning' = Cleaning }
pred forgotten { some Sent and no Sent' and same and keep and Cleaning' = Cleaning and Alive' = Alive }
pred clean {
  no Sent and (no Alive or some NoLife) and Cleaning' = Life and keep and Alive' = Alive and Sent' = Sent
  some MarkFirst
    => ((some Marked and no Marked' and There' = There) or (no Marked and some There and no There' and Marked' = Marked))
    else ((some There and no There' and Marked' = Marked) or (no There and some Marked and no Marked' and There' = There))
}
pred act[s: Step] { some Alive and s not in ByOthers and Did' = Did + s and ByOthers' = ByOthers and rest }
pred other[s: Step] { s not in Did and ByOthers' = ByOthers + s and Did' = Did and rest }
pred rest { same and Alive' = Alive and Sent' = Sent and Cleaning' = Cleaning }
pred undo { no Alive and no Did' and ByOthers' = (some UndoAll => none else ByOthers) and rest }
pred nothing { rest and keep }
fact {
  no There and no Marked and Alive = Life and no Sent and no Cleaning and no Did and no ByOthers
  always (nothing or create or arrives or dies or forgotten or clean or undo or some s: Step | act[s] or other[s])
}
pred lawful {
  always (some There implies some Marked)
  always (ByOthers in ByOthers')
  always (some Alive implies (some There implies some There'))
}
check Safe { no Fault implies lawful } for 2 but 10 steps expect 0
check MarksFirst { Fault in MarkFirst implies lawful } for 2 but 10 steps expect 1
check UndoOfEverything { Fault in UndoAll implies lawful } for 2 but 10 steps expect 1
check CleanupOfTheLiving { Fault in NoLife implies lawful } for 2 but 10 steps expect 1
