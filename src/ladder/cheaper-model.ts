import { isReservation, type Step } from './step.js';

/**
 * The substitutes that `models[x].cheaper` declares, in order, each admitted afresh at its own price and budgets. Helps
 * where the model, money or a budget for certain models is full; never waits.
 */
export function cheaperModel(): Step {
  return {
    name: 'cheaperModel',
    canHelp: (refusal, call) =>
      call.model !== undefined &&
      refusal.full.length > 0 &&
      refusal.full.every(
        ({ charge }) => charge.scope === 'model' || charge.dimension === 'usd' || charge.budget.models !== undefined,
      ),
    async attempt(walk) {
      for (const model of walk.substitutes(walk.call)) {
        const result = await walk.admit(walk.onModel(walk.call, model));
        if (isReservation(result)) return result;
      }
      return undefined;
    },
  };
}
