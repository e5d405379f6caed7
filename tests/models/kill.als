// A run is killed between any two of its actions and applied again. A request that was on its way may be applied by
// then, later, or never. The second run goes by what the cluster shows, not by what the journal says.
abstract sig Step {}
one sig Create, Delete extends Step {}
var sig Intent, Flying, Applied, Done in Step {}
var lone sig Alive in Life {}
one sig Life {}
lone sig TrustsIntents {}

pred frame[i, f, a, d: set Step] { Intent' = i and Flying' = f and Applied' = a and Done' = d }
pred announce[s: Step] {
  some Alive and s not in Intent + Done
  s = Delete implies Create in Done
  frame[Intent + s, Flying, Applied, Done] and Alive' = Alive
}
pred send[s: Step] { some Alive and s in Intent - Done and frame[Intent, Flying + s, Applied, Done] and Alive' = Alive }
pred land[s: Step] { s in Flying and frame[Intent, Flying - s, Applied + s, Done] and Alive' = Alive }
pred answer[s: Step] { some Alive and s in Applied and frame[Intent, Flying, Applied, Done + s] and Alive' = Alive }
pred kill { some Alive and no Alive' and frame[Intent, Flying, Applied, Done] }
pred resume {
  no Alive and Alive' = Life
  frame[none, Flying, Applied, some TrustsIntents => Intent + Done else Applied]
}
pred nothing { frame[Intent, Flying, Applied, Done] and Alive' = Alive }
fact {
  no Intent + Flying + Applied + Done and Alive = Life
  always (nothing or kill or resume or some s: Step | announce[s] or send[s] or land[s] or answer[s])
}
pred lawful { Delete in Applied implies Create in Applied }
check Safe { no TrustsIntents implies always (lawful and Done in Applied) } for 2 but 12 steps expect 0
check JournalTrusted { always (lawful and Done in Applied) } for 2 but 12 steps expect 1
run Finishes { no TrustsIntents and eventually (no Alive and eventually Delete in Done) } for 2 but 12 steps expect 1
