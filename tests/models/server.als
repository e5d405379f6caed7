// A server takes away what has expired while a run renews it: a new mark of the end, then the old mark goes. With the
// lease the server's look and its deletion lie in one run's time.
sig Mark {}
one sig Access { var marks: set Mark }
var lone sig There in Access {}
var sig Over in Mark {}
abstract sig Actor { var holds: lone Access }
one sig Server, Run extends Actor {}
var lone sig Saw in Access {}
lone sig NoLease, NoLook {}

pred free { some NoLease or no Actor.holds }
pred take[a: Actor] {
  no a.holds and free and a.holds' = Access and all o: Actor - a | o.holds' = o.holds
  no Saw' and stay and Over' = Over
}
pred give[a: Actor] { some a.holds and no a.holds' and (all o: Actor - a | o.holds' = o.holds) and no Saw' and stay and Over' = Over }
pred stay { marks' = marks and There' = There }
pred renew[m: Mark] {
  some Run.holds and m not in Over + Access.marks and some There
  marks' = marks + Access->m and There' = There and holds' = holds and Saw' = Saw and Over' = Over
}
pred look { some Server.holds and Access.marks in Over and some There and Saw' = Access and holds' = holds and stay and Over' = Over }
pred revoke {
  some Server.holds and (some Saw or (some NoLook and some Access.marks & Over)) and some There
  no There' and no Saw' and marks' = marks and holds' = holds and Over' = Over
}
pred time { some m: Mark - Over | Over' = Over + m and stay and holds' = holds and Saw' = Saw }
pred nothing { stay and holds' = holds and Saw' = Saw and Over' = Over }
fact {
  no holds and no Saw and no Over and There = Access and one Access.marks
  always (nothing or look or revoke or time or (some a: Actor | take[a] or give[a]) or some m: Mark | renew[m])
}
pred lawful { always (some There and no There' implies Access.marks in Over) }
check Safe { no NoLease and no NoLook implies lawful } for 3 but 9 steps expect 0
check WithoutLease { no NoLook implies lawful } for 3 but 9 steps expect 1
check WithoutLook { no NoLease implies lawful } for 3 but 9 steps expect 1
