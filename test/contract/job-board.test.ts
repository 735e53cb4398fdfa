import { MemoryJobBoard } from '../../src/read-model/embedded/job-board.js';
import { jobBoardContract } from './job-board.contract.js';

jobBoardContract('in memory', async () => {
  const board = new MemoryJobBoard();
  return { open: async () => board, destroy: async () => undefined };
});
